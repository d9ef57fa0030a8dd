"""Where training goes on: the ledger of what each initialised iterator drew, and what follows."""
