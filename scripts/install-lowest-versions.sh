#!/usr/bin/env bash
# Installs the lowest supported version of each peer for a run of the tests, without changing the lock file.
# Prisma is left out, because the schemas of the tests are written for Prisma 7.
set -euo pipefail
npm install --no-save --no-audit --no-fund --legacy-peer-deps \
  typeorm@0.3.20 typeorm-0.3@npm:typeorm@0.3.20 \
  @nestjs/common@10.0.0 @nestjs/core@10.0.0 @nestjs/schedule@4.0.0 @nestjs/typeorm@10.0.0 \
  node-cron@~4.4.0 @opentelemetry/api@1.9.0
