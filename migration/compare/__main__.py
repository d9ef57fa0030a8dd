"""Runs `migration.compare.command`."""

from migration.compare.command import main

raise SystemExit(main())
