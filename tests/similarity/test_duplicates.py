"""Near-duplicates, guard, clusters and contradictions, on sentences as engineers and agents write
them.
"""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.similarity.claims import Claim, claim
from memcli.similarity.contradictions import contradiction, contradictions
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import clusters, jaccard, near_duplicate, similar_pairs

# The same lesson twice, as two sessions word it.
MERGE = [
    (
        "Freeze time in the cart tests, discounts depend on the date.",
        "Freeze time in cart tests: discounts depend on the date.",
    ),
    (
        "Always run the linter before you push to the main branch.",
        "Always run the linter before you push to main branch!",
    ),
    (
        "ALWAYS run the database migrations before the integration tests.",
        "Always run the database migrations before the integration tests",
    ),
    (
        "The deploy script needs the `AWS_PROFILE` variable to be set.",
        "The deploy script needs the AWS_PROFILE variable to be set.",
    ),
    (
        "Use `pnpm` to install the dependencies of the web app.",
        "Use pnpm to install the dependencies of the web app.",
    ),
    (
        "Don't commit generated files to the repository.",
        "Do not commit generated files to the repository.",
    ),
    (
        "You can't run the e2e suite without a local Redis instance.",
        "You cannot run the e2e suite without a local Redis instance.",
    ),
    (
        "The order service doesn't retry failed webhooks on its own.",
        "The order service does not retry failed webhooks on its own.",
    ),
    (
        "**Never** log access tokens, session cookies or passwords.",
        "Never log access tokens, session cookies or passwords.",
    ),
    (
        "Never commit API keys, passwords or tokens to the repository.",
        "Never commit passwords, tokens or API keys to the repository.",
    ),
    (
        "## [2026-02-10] Freeze time\nCart tests depend on the clock, so freeze it.",
        "## [2026-03-01] Freeze time\nCart tests depend on the clock, so freeze it.",
    ),
    (
        "## 2026-02-10: Queue names\nQueues are named after the service that consumes them.",
        "### Queue names\nQueues are named after the service that consumes them.",
    ),
    (
        "- [2026-01-04] Review pull requests within one working day.",
        "* [2026-02-20] Review pull requests within one working day.",
    ),
    (
        "Before a release, update the changelog and bump the version in the package metadata.",
        "Update the changelog and bump the version in the package metadata before a release.",
    ),
    (
        "If the cache is cold, the first request to the search service takes several seconds.",
        "The first request to the search service takes several seconds if the cache is cold.",
    ),
    (
        "Ruff, mypy and pytest must all pass before a pull request is merged.",
        "mypy, Ruff and pytest must all pass before a pull request is merged.",
    ),
    (
        "Keep functions small and name them after what they return.",
        "Keep functions small, and name them after what they return.",
    ),
    (
        "The billing worker reads from the events queue and writes to the ledger table.",
        "Billing worker reads from the events queue, and writes to the ledger table.",
    ),
    (
        "Set the request timeout to 30 seconds in the HTTP client of the importer.",
        "Set the request timeout to 30s in the HTTP client of the importer.",
    ),
    (
        "Retry uploads 3 times with exponential backoff before giving up on the file.",
        "Retry uploads three times with exponential backoff before giving up on the file.",
    ),
    (
        "Batches of more than 10,000 rows make the import run out of memory on the small workers.",
        "Batches of more than 10000 rows make the import run out of memory on the small workers.",
    ),
    (
        "The staging database is restored from production every night, so test data there is lost.",
        "The staging database is restored from production every night, so test data there gets lost.",
    ),
    (
        "Prefer composition over inheritance in the domain model, because the class tree became too deep.",
        "Prefer composition over inheritance in the domain model because the class tree has become too deep.",
    ),
    (
        "Mock the payment gateway in unit tests; the sandbox is too slow and rate limited.",
        "Mock the payment gateway in unit tests: the sandbox is too slow and is rate limited.",
    ),
    (
        "Run the full test suite locally before pushing to the shared branch.",
        "Run the entire test suite locally before pushing to the shared branch.",
    ),
    (
        "The CI runner fails when the Docker image cache is full and needs to be pruned by hand.",
        "The CI runner fails when the Docker image cache is full and it needs to be pruned by hand.",
    ),
    (
        "Open a draft pull request early so that the reviewers can comment on the design.",
        "Open a draft pull request early, so the reviewers can comment on the design.",
    ),
    (
        "Use the repository pattern for database access in the order service and keep SQL out of handlers.",
        "Use the repository pattern for db access in the order service and keep SQL out of handlers.",
    ),
    (
        "Please write the error messages of the CLI in lower case without a final full stop.",
        "Write the error messages of the CLI in lower case without a final full stop.",
    ),
    (
        "The user wants short answers with the command first and the explanation after it.",
        "The user wants short answers, with the command first and the explanation after it.",
    ),
    (
        "Feature flags live in the config service; restart the gateway after changing one of them.",
        "Feature flags live in the config service, restart the gateway after changing any of them.",
    ),
    (
        "The parser must accept CRLF line endings because Windows users edit the memory files in Notepad.",
        "The parser has to accept CRLF line endings because Windows users edit the memory files in Notepad.",
    ),
    (
        "Name test functions after the fact they state, not after the function they call.",
        "Name the test functions after the fact they state, not after the function they call.",
    ),
    (
        "Use UTC everywhere in the scheduler and convert to local time only in the user interface.",
        "Use UTC everywhere in the scheduler, and convert to local time only in the user interface.",
    ),
    (
        "The index is derived data: deleting it loses nothing but time, so never migrate its schema.",
        "The index is derived data, so deleting it loses nothing but time; never migrate its schema.",
    ),
    (
        "See `src/payments/client.py` for the retry logic of the payments client.",
        "See src/payments/client.py for the retry logic of the payments client.",
    ),
    (
        "Pass `--no-verify` to git only when the hook itself is broken.",
        "Only pass `--no-verify` to git when the hook itself is broken.",
    ),
    (
        "Python 3.11 is the oldest version that the command line tool has to support.",
        "Python 3.11 is the oldest version the command line tool has to support.",
    ),
    (
        "The first build after a dependency change takes about ten minutes, later builds are cached.",
        "The first build after a dependency change takes about 10 minutes; later builds are cached.",
    ),
    (
        "Ask the owner of the schema before adding a column to the shared customers table in the warehouse.",
        "Ask the schema owner before adding a column to the shared customers table in the warehouse.",
    ),
    (
        "Tests that touch the network are marked slow and run only in the nightly job on the CI server.",
        "Tests that touch the network are marked slow and are run only in the nightly job on the CI server.",
    ),
    (
        "When the websocket drops, the client reconnects with jitter so that the servers are not overrun.",
        "When the websocket drops the client reconnects with jitter, so that the servers are not overrun.",
    ),
    (
        "Do not edit the generated client by hand, change the OpenAPI file and run the generator.",
        "Don't edit the generated client by hand; change the OpenAPI file, and run the generator.",
    ),
    (
        "Vor dem Deployment müssen alle Migrationen auf der Testdatenbank gelaufen sein.",
        "Vor dem Deployment müssen alle Migrationen auf der Testdatenbank gelaufen sein!",
    ),
    (
        "Bitte keine Passwörter in die Konfiguration schreiben, sondern den Vault benutzen.",
        "Keine Passwörter in die Konfiguration schreiben, sondern den Vault benutzen.",
    ),
    (
        "Antes de publicar una versión hay que actualizar el registro de cambios y la documentación.",
        "Antes de publicar una versión, hay que actualizar el registro de cambios y la documentación.",
    ),
    (
        "部署之前必须在测试环境运行全部数据库迁移，否则服务无法启动。",
        "部署之前必须在测试环境运行全部数据库迁移,否则服务无法启动",
    ),
    (
        "提交代码之前请先运行格式化工具和单元测试，避免流水线失败，并且更新变更日志。",
        "提交代码之前先运行格式化工具和单元测试，避免流水线失败，并且更新变更日志。",
    ),
    (
        "Les tests d'intégration ont besoin d'une base de données locale et d'un cache vide.",
        "Les tests d’intégration ont besoin d’une base de données locale et d’un cache vide.",
    ),
    (
        "The nightly backup job writes to S3 and takes about forty minutes on the primary database.",
        "The nightly backup job writes to S3, and takes around forty minutes on the primary database.",
    ),
    (
        "Check that the feature flag is enabled before you run the checkout tests against staging.",
        "Make sure that the feature flag is enabled before you run the checkout tests against staging.",
    ),
    (
        "We use conventional commits in this repository, so prefix every message with the "
        "type of the change.",
        "This repository uses conventional commits, so prefix every message with the type of the change.",
    ),
    (
        "When adding a new endpoint, also add it to the OpenAPI spec and regenerate the client code.",
        "When you add a new endpoint, also add it to the OpenAPI spec and regenerate the client code.",
    ),
    (
        "The user prefers small commits with clear messages over one large commit at the end of the work.",
        "User prefers small commits with clear messages over one large commit at the end of the work.",
    ),
    (
        "Integration tests need Docker running locally, otherwise they hang on the first "
        "database connection.",
        "Integration tests need Docker to be running locally, otherwise they hang on the "
        "first database connection.",
    ),
    (
        "Do not use `any` in TypeScript code, prefer `unknown` and narrow the type with a guard.",
        "Don't use `any` in TypeScript code; prefer `unknown`, and narrow the type with a guard.",
    ),
    (
        "Error responses follow RFC 7807 and carry a stable error code that clients may rely on.",
        "Error responses follow RFC 7807 and carry a stable error code which clients may rely on.",
    ),
    (
        "The cron job that rotates the logs runs as root and must not be moved to the app user.",
        "The cron job which rotates the logs runs as root, and must not be moved to the app user.",
    ),
    (
        "Keep secrets out of the Terraform state by reading them from Vault at run time.",
        "Keep secrets out of Terraform state by reading them from Vault at runtime.",
    ),
    (
        "After changing the schema, run `make gen` to regenerate the models and commit the result.",
        "After changing the schema run `make gen` to regenerate the models, and commit the result.",
    ),
    (
        "pytest-xdist breaks the database fixtures because all workers share one schema; "
        "run these tests serially.",
        "pytest-xdist breaks the database fixtures, as all workers share one schema. Run "
        "these tests serially.",
    ),
    (
        "The frontend build needs Node 20; older versions fail with a cryptic OpenSSL error.",
        "The frontend build needs Node 20, older versions fail with a cryptic OpenSSL error.",
    ),
    (
        "Rate limiting is handled by the API gateway, services must not implement it themselves.",
        "Rate limiting is handled by the API gateway; the services must not implement it themselves.",
    ),
    (
        "Use structured logging with the request id in every line so that traces can be joined later.",
        "Use structured logging with the request ID in every log line, so that traces can be joined later.",
    ),
    (
        "The mobile app caches the feature flags for one hour, so a change is not visible immediately.",
        "The mobile app caches feature flags for an hour, so a change is not visible immediately.",
    ),
    (
        "Never run `terraform apply` from a laptop, always go through the pipeline so "
        "that the state is locked.",
        "Never run `terraform apply` from your laptop; always go through the pipeline so "
        "the state is locked.",
    ),
    (
        "The flaky test in the search module depends on the order of dictionary keys, "
        "sort them before comparing.",
        "The flaky test in the search module depends on dictionary key order, sort the "
        "keys before comparing.",
    ),
    (
        "Kafka consumers must be idempotent, since messages can be delivered more than "
        "once after a rebalance.",
        "Kafka consumers have to be idempotent because messages can be delivered more "
        "than once after a rebalance.",
    ),
    (
        "Translate the strings in the settings page with the i18n helper and never hard-code English text.",
        "Translate strings in the settings page with the i18n helper, and never hardcode English text.",
    ),
    (
        "If `npm ci` fails with EINTEGRITY, delete the lock file cache under ~/.npm and try again.",
        "If `npm ci` fails with EINTEGRITY, delete the lock file cache in ~/.npm and try it again.",
    ),
    (
        "The importer silently drops rows with an unknown currency, check the warning count after each run.",
        "The importer silently drops rows with unknown currency; check the warning count after every run.",
    ),
    (
        "Tell the user before deleting any file, even when it looks like a build artefact.",
        "Tell the user before you delete any file, even if it looks like a build artefact.",
    ),
    (
        "Der Build schlägt fehl, wenn die Umgebungsvariable JAVA_HOME nicht gesetzt ist.",
        "Der Build schlägt fehl wenn die Umgebungsvariable JAVA_HOME nicht gesetzt ist",
    ),
    (
        "El servicio de pagos no debe reintentar las peticiones fallidas de forma automática.",
        "El servicio de pagos no debe reintentar las peticiones fallidas de forma automática!",
    ),
    (
        "Migrations must be backwards compatible, because the old version keeps running during the rollout.",
        "Migrations need to be backwards compatible because the old version keeps running "
        "during the rollout.",
    ),
    (
        "**Context:** flaky CI\n**Lesson:** the tests share one temp directory; give every test its own.",
        "**Context:** flaky CI. **Lesson:** the tests share one temp directory, give every test its own.",
    ),
    (
        "Prefer `pathlib` over `os.path` in new code and convert old code when you touch it anyway.",
        "Prefer `pathlib` over `os.path` in new code, and convert the old code when you touch it anyway.",
    ),
    (
        "The retry decorator swallows KeyboardInterrupt, catch Exception and not BaseException in it.",
        "The retry decorator swallows KeyboardInterrupt; catch Exception, not BaseException, in it.",
    ),
    (
        "Wrap long-running database queries in a statement timeout so the pool is not "
        "exhausted by one report.",
        "Wrap long running database queries in a statement timeout, so that the pool is "
        "not exhausted by one report.",
    ),
    (
        "Run the smoke tests after every deploy to production and roll back when one fails.",
        "Run smoke tests after each deploy to production, and roll back if one fails.",
    ),
    (
        "The legacy reports service has no owner, changes to it need approval from the data platform team.",
        "The legacy reports service has no owner; changes to it require approval from the "
        "data platform team.",
    ),
    (
        "Validate webhook signatures before parsing the body, because the parser is not "
        "hardened against hostile input.",
        "Validate webhook signatures before parsing the body, since the parser is not "
        "hardened against hostile input.",
    ),
    (
        "The user dislikes emojis in commit messages and in documentation, leave them out everywhere.",
        "The user dislikes emoji in commit messages and documentation, leave them out everywhere.",
    ),
]

# Alike, and yet not the same; with the reason the guard should give.
APART = [
    (
        "Squash the commits of a feature branch before merging it into main.",
        "Never squash the commits of a feature branch before merging it into main.",
        "negation",
    ),
    (
        "Use the shared fixture for the database tests in this package.",
        "Do not use the shared fixture for the database tests in this package.",
        "negation",
    ),
    (
        "The client library is thread safe and can be shared between workers.",
        "The client library is not thread safe and can't be shared between workers.",
        "negation",
    ),
    (
        "Deploy the gateway with the sidecar enabled in every region.",
        "Deploy the gateway without the sidecar enabled in every region.",
        "negation",
    ),
    (
        "Mock the clock in the scheduler tests of the billing service.",
        "Avoid mocking the clock in the scheduler tests of the billing service.",
        "negation",
    ),
    (
        "Keep using the legacy exporter for the monthly finance reports.",
        "Stop using the legacy exporter for the monthly finance reports.",
        "negation",
    ),
    (
        "Always rebase feature branches, never merge main into them.",
        "Always merge main into feature branches, never rebase them.",
        None,
    ),
    (
        "Use tabs, not spaces, for indentation in the Makefile and the Go code.",
        "Use spaces, not tabs, for indentation in the Makefile and the Go code.",
        "order",
    ),
    (
        "Run the migrations before the deploy of the order service.",
        "Run the deploy of the order service before the migrations.",
        "order",
    ),
    (
        "Prefer dataclasses over dictionaries for the internal messages.",
        "Prefer dictionaries over dataclasses for the internal messages.",
        "order",
    ),
    (
        "The gateway calls the auth service to validate the session token.",
        "The auth service calls the gateway to validate the session token.",
        "order",
    ),
    (
        "Copy the fixtures from staging to the local database before the demo.",
        "Copy the fixtures from the local database to staging before the demo.",
        "order",
    ),
    (
        "When the cache fails, the client retries against the database.",
        "When the database fails, the client retries against the cache.",
        "order",
    ),
    (
        "The connect timeout is 5 s and the read timeout is 30 s in the HTTP client.",
        "The connect timeout is 30 s and the read timeout is 5 s in the HTTP client.",
        "order",
    ),
    (
        "1. Run the migrations\n2. Restart the workers\n3. Clear the cache",
        "1. Restart the workers\n2. Run the migrations\n3. Clear the cache",
        "order",
    ),
    (
        "Use Postgres instead of SQLite for the integration tests in CI.",
        "Use SQLite instead of Postgres for the integration tests in CI.",
        "order",
    ),
    (
        "Enable strict mode in the TypeScript configuration of the web package.",
        "Disable strict mode in the TypeScript configuration of the web package.",
        "antonym",
    ),
    (
        "Increase the connection pool size when the nightly import runs on the big workers.",
        "Decrease the connection pool size when the nightly import runs on the big workers.",
        "antonym",
    ),
    (
        "Warm the cache before the traffic switch of a blue green deployment.",
        "Warm the cache after the traffic switch of a blue green deployment.",
        "antonym",
    ),
    (
        "The config parser treats unknown keys as valid and keeps them in the file.",
        "The config parser treats unknown keys as invalid and keeps them in the file.",
        "antonym",
    ),
    (
        "Turn the feature flag on for internal users during the beta of the editor.",
        "Turn the feature flag off for internal users during the beta of the editor.",
        "antonym",
    ),
    (
        "Lock the table while the backfill of the new column is running in production.",
        "Unlock the table while the backfill of the new column is running in production.",
        "antonym",
    ),
    (
        "The max pool size of the reporting database is set by the platform team.",
        "The min pool size of the reporting database is set by the platform team.",
        "antonym",
    ),
    (
        "All tests of the importer must pass before a release is tagged.",
        "Some tests of the importer must pass before a release is tagged.",
        "antonym",
    ),
    (
        "Reviewers must approve changes of the public API before they are merged.",
        "Reviewers may approve changes of the public API before they are merged.",
        "antonym",
    ),
    (
        "Retry the upload 3 times before the job is marked as failed.",
        "Retry the upload 5 times before the job is marked as failed.",
        "number",
    ),
    (
        "Retry the upload 3 times before the job is marked as failed.",
        "Retry the upload times before the job is marked as failed.",
        "number",
    ),
    (
        "The tool needs Python 3.11 because it reads TOML with the standard library.",
        "The tool needs Python 3.12 because it reads TOML with the standard library.",
        "number",
    ),
    (
        "Pin the SDK to v2.4.1, later releases break the streaming client.",
        "Pin the SDK to v2.5.0, later releases break the streaming client.",
        "number",
    ),
    (
        "The request timeout of the search service is 30 s in production.",
        "The request timeout of the search service is 30 ms in production.",
        "number",
    ),
    (
        "The metrics endpoint of the worker listens on port 9090 inside the cluster.",
        "The metrics endpoint of the worker listens on port 9100 inside the cluster.",
        "number",
    ),
    (
        "The upload limit of the gateway is 10 MB for anonymous users.",
        "The upload limit of the gateway is 10 GB for anonymous users.",
        "number",
    ),
    (
        "The certificate of the staging gateway expires on 2026-05-01 and is renewed by hand.",
        "The certificate of the staging gateway expires on 2026-08-01 and is renewed by hand.",
        "number",
    ),
    (
        "Hash the cache keys with sha256, the short form collides in large trees.",
        "Hash the cache keys with sha1, the short form collides in large trees.",
        "number",
    ),
    (
        "Coverage of the core package must stay above 80 % on every branch.",
        "Coverage of the core package must stay above 90 % on every branch.",
        "number",
    ),
    (
        "The retry logic lives in src/payments/client.py and is covered by tests.",
        "The retry logic lives in src/billing/client.py and is covered by tests.",
        "path",
    ),
    (
        "Generated files under build/ are ignored, so edit the templates.",
        "Generated files under dist/ are ignored, so edit the templates.",
        "path",
    ),
    (
        "The linter ignores **/*.snap files in the web package by default.",
        "The linter ignores **/*.json files in the web package by default.",
        "path",
    ),
    (
        "The API reference lives at https://docs.example.com/v1 and is generated nightly.",
        "The API reference lives at https://docs.example.com/v2 and is generated nightly.",
        "path",
    ),
    (
        "Patch app.clients.stripe in the checkout tests to avoid real calls.",
        "Patch app.clients.paypal in the checkout tests to avoid real calls.",
        "path",
    ),
    (
        "Push with --force-with-lease after a rebase of your own branch.",
        "Push with --force after a rebase of your own branch.",
        "flag",
    ),
    (
        "Run the suite with pytest -x when you look for the first failure.",
        "Run the suite with pytest -n when you look for the first failure.",
        "flag",
    ),
    (
        "Run the installer with --yes in scripts, it hangs at the prompt.",
        "Run the installer in scripts, it hangs at the prompt.",
        "flag",
    ),
    (
        "Call `flush_events` at the end of every handler in the tracking module.",
        "Call `close_events` at the end of every handler in the tracking module.",
        "code",
    ),
    (
        "Protect the `main` branch so that only the release bot can push to it.",
        "Protect the `develop` branch so that only the release bot can push to it.",
        None,
    ),
    (
        "Fail the check when `a == b` holds for the two snapshot digests.",
        "Fail the check when `a != b` holds for the two snapshot digests.",
        "code",
    ),
    (
        "Deploy the storefront on any weekday as long as the on-call engineer agrees.",
        "Deploy the storefront on any weekday except Friday as long as the on-call engineer agrees.",
        "exception",
    ),
    (
        "Use Redis for the session cache of the storefront and the admin panel.",
        "Use Memcached for the session cache of the storefront and the admin panel.",
        "antonym",
    ),
    (
        "Restart the billing worker after each deploy, its queue connection goes stale.",
        "Restart the search worker after each deploy, its queue connection goes stale.",
        "word",
    ),
    (
        "Ask Alice before you change the schema of the customers table in the warehouse.",
        "Ask Bob before you change the schema of the customers table in the warehouse.",
        "word",
    ),
    (
        "The integration tests use the staging cluster, so do not run two pipelines at once.",
        "The integration tests use the production cluster, so do not run two pipelines at once.",
        "antonym",
    ),
    (
        "Die Migrationen laufen im Test automatisch vor dem Start des Servers.",
        "Die Migrationen laufen im Test nicht automatisch vor dem Start des Servers.",
        "negation",
    ),
    (
        "Verwende pnpm nicht im Backend, verwende npm für alle Pakete.",
        "Verwende npm nicht im Backend, verwende pnpm für alle Pakete.",
        None,
    ),
    (
        "Las migraciones se ejecutan antes de arrancar el servidor de pruebas.",
        "Las migraciones no se ejecutan antes de arrancar el servidor de pruebas.",
        "negation",
    ),
    (
        "Hay que activar la caché antes de lanzar las pruebas de carga del servicio.",
        "Hay que desactivar la caché antes de lanzar las pruebas de carga del servicio.",
        "antonym",
    ),
    (
        "在生产环境运行数据库迁移之前要备份全部数据表和配置文件",
        "不要在生产环境运行数据库迁移之前要备份全部数据表和配置文件",
        "negation",
    ),
    (
        "请使用 pnpm 而不是 npm 安装前端项目的全部依赖。",
        "请使用 npm 而不是 pnpm 安装前端项目的全部依赖。",
        "order",
    ),
    (
        "部署新版本时必须先启用维护模式然后再重启全部后台服务进程",
        "部署新版本时必须先禁用维护模式然后再重启全部后台服务进程",
        "antonym",
    ),
    (
        "Use a timeout of 5 s for connect and of 9 s for read in the client.",
        "Use a timeout of 9 s for connect and of 5 s for read in the client.",
        "order",
    ),
    (
        "Set the timeout to 5 s for reads versus 9 s for writes in the storage client.",
        "Set the timeout to 9 s for reads versus 5 s for writes in the storage client.",
        "order",
    ),
    (
        "Rename `old_users` to `new_users` once the backfill has finished in production.",
        "Rename `new_users` to `old_users` once the backfill has finished in production.",
        "order",
    ),
    (
        "Log in with the deploy key before you run the release script of the plugin.",
        "Log out with the deploy key before you run the release script of the plugin.",
        "antonym",
    ),
    (
        "Die Warteschlange wird vor dem Neustart des Dienstes vollständig geleert.",
        "Die Warteschlange wird nach dem Neustart des Dienstes vollständig geleert.",
        None,
    ),
    (
        "Siempre ejecuta las pruebas antes de subir los cambios al repositorio.",
        "Nunca ejecutes las pruebas antes de subir los cambios al repositorio.",
        None,
    ),
    (
        "在测试环境可以直接修改数据库表结构，但是必须先通知平台团队并且备份全部数据",
        "在生产环境可以直接修改数据库表结构，但是必须先通知平台团队并且备份全部数据",
        "antonym",
    ),
    (
        "Validate webhook signatures in the gateway before parsing the body of the request.",
        "Validate webhook signatures in the worker before parsing the body of the request.",
        None,
    ),
    (
        "The importer drops rows with an unknown currency and logs a warning for each.",
        "The importer keeps rows with an unknown currency and logs a warning for each.",
        None,
    ),
    (
        "The order service owns the refunds table and the payment service only reads it.",
        "The payment service owns the refunds table and the order service only reads it.",
        None,
    ),
    (
        "Builds on Linux need the libfoo headers, which the setup script installs.",
        "Builds on macOS need the libfoo headers, which the setup script installs.",
        None,
    ),
    (
        "The retry queue is processed every hour by the background worker of the mailer.",
        "The retry queue is processed every day by the background worker of the mailer.",
        None,
    ),
    (
        "Log at debug level in the hot path of the request handler, it is sampled.",
        "Log at info level in the hot path of the request handler, it is sampled.",
        None,
    ),
    (
        "Cache the user profile in the session, it changes rarely and is read on each request.",
        "Cache the user profile in the session, it changes often and is read on each request.",
        None,
    ),
    (
        "Wait until the replica has caught up before you start the read traffic test.",
        "Wait until the primary has caught up before you start the read traffic test.",
        None,
    ),
    (
        "Merge pull requests with a merge commit, so that the branch history stays visible.",
        "Merge pull requests with a squash commit, so that the branch history stays visible.",
        None,
    ),
    (
        "Never use the ORM in hot loops but write plain SQL for the bulk import job.",
        "Never write plain SQL in hot loops but use the ORM for the bulk import job.",
        None,
    ),
    (
        "Only admins can delete a project, members have to ask for it in the channel.",
        "Members can delete a project, only admins have to ask for it in the channel.",
        None,
    ),
    (
        "If the flag is set, the exporter writes CSV; otherwise it writes JSON to the bucket.",
        "If the flag is set, the exporter writes JSON; otherwise it writes CSV to the bucket.",
        None,
    ),
    (
        "The sidecar must start before the app container, or else the first requests fail.",
        "The sidecar must start after the app container, or else the first requests fail.",
        None,
    ),
    (
        "The public API accepts both snake case and camel case in the request body.",
        "The public API accepts neither snake case nor camel case in the request body.",
        None,
    ),
    (
        "Reviewers should look at the tests first and at the implementation second.",
        "Reviewers should look at the implementation first and at the tests second.",
        None,
    ),
    (
        "The linter runs in the pre-commit hook and the type checker runs in CI.",
        "The type checker runs in the pre-commit hook and the linter runs in CI.",
        None,
    ),
    (
        "Allow the crawler on the docs site and block it on the app domain.",
        "Block the crawler on the docs site and allow it on the app domain.",
        None,
    ),
    (
        "Use the read replica for reports and the primary for checkout queries in the shop.",
        "Use the primary for reports and the read replica for checkout queries in the shop.",
        None,
    ),
    (
        "The job needs at least 4 GB of memory on the CI runners to finish in time.",
        "The job needs at most 4 GB of memory on the CI runners to finish in time.",
        None,
    ),
    (
        "The gateway forwards requests to the auth service over gRPC with mutual TLS.",
        "The gateway forwards requests to the auth service over REST with mutual TLS.",
        None,
    ),
    (
        "Keep the lock file under version control so that builds are reproducible.",
        "Keep the lock file out of version control so that builds are reproducible.",
        None,
    ),
    (
        "The team decided to move from GraphQL to REST for the public API this year.",
        "The team decided to move from REST to GraphQL for the public API this year.",
        None,
    ),
    (
        "Set `retries: 3` in the job template of the importer, the default is too low.",
        "Set `retries: 3` in the job template of the importer, the default is too high.",
        None,
    ),
    (
        "Deploys happen on weekdays in the morning, so that someone is around to watch.",
        "Deploys happen on weekdays in the evening, so that someone is around to watch.",
        None,
    ),
    (
        "Nobody may push to the release branch while the release train is running.",
        "Everybody may push to the release branch while the release train is running.",
        None,
    ),
    (
        "The test for the parser is slow because it reads the fixture from disk.",
        "The test for the parser is fast because it reads the fixture from disk.",
        None,
    ),
    (
        "Document public functions in the API module, the docs are generated from them.",
        "Document private functions in the API module, the docs are generated from them.",
        None,
    ),
    (
        "The user wants to be asked before any dependency is added to the project.",
        "The user wants to be told after any dependency is added to the project.",
        None,
    ),
    (
        "Store timestamps in UTC in the database and convert them in the frontend.",
        "Store timestamps in local time in the database and convert them in the frontend.",
        None,
    ),
    (
        "Close the connection in the finally block, the pool does not do it for you.",
        "Close the connection in the finally block, the pool does it for you.",
        None,
    ),
    (
        "Unless the tests are green, do not merge the branch of another person.",
        "If the tests are green, do not merge the branch of another person.",
        None,
    ),
    (
        "The session cookie is set by the gateway, not by the auth service, since the split.",
        "The session cookie is set by the auth service, not by the gateway, since the split.",
        None,
    ),
    (
        "Use a mutex around the cache in the worker; the map is not safe for concurrent use.",
        "Use a mutex around the cache in the worker; the map is safe for concurrent use.",
        None,
    ),
    (
        "日志里不要打印用户的访问令牌和密码，调试的时候也不例外",
        "日志里可以打印用户的访问令牌和密码，调试的时候也不例外",
        None,
    ),
    (
        "Der Dienst schreibt die Protokolle in die Datenbank und löscht alte Einträge nachts.",
        "Der Dienst schreibt die Protokolle in die Datenbank und löscht alte Einträge nie.",
        None,
    ),
]

# About one thing, and only one of them can hold.
CONTRADICT = [
    (
        "Squash commits before merging a feature branch.",
        "Never squash commits before merging a feature branch.",
    ),
    (
        "Use the shared database fixture in the API tests.",
        "Do not use the shared database fixture in the API tests.",
    ),
    ("Deploy on Fridays.", "Don't deploy on Fridays."),
    ("The HTTP client is thread safe.", "The HTTP client is not thread safe."),
    ("Avoid global state in plugins.", "Global state in plugins is fine."),
    ("Use tabs, not spaces, in Go files.", "Use spaces, not tabs, in Go files."),
    ("Run the migrations before the deploy.", "Run the deploy before the migrations."),
    ("Prefer integration tests over mocks.", "Prefer mocks over integration tests."),
    (
        "Enable strict mode in the compiler settings.",
        "Disable strict mode in the compiler settings.",
    ),
    ("Warm the cache before the traffic switch.", "Warm the cache after the traffic switch."),
    ("Allow direct pushes to the release branch.", "Deny direct pushes to the release branch."),
    (
        "Include the lock file in the published package.",
        "Exclude the lock file from the published package.",
    ),
    (
        "The default of the `dry_run` option is true.",
        "The default of the `dry_run` option is false.",
    ),
    (
        "Increase the pool size on the import workers.",
        "Reduce the pool size on the import workers.",
    ),
    ("The timeout is 30 s.", "The timeout is 60 s."),
    ("The service needs Python 3.11.", "The service needs Python 3.12."),
    ("The worker listens on port 9090.", "The worker listens on port 9100."),
    ("Tests dürfen das Netzwerk benutzen.", "Tests dürfen das Netzwerk nicht benutzen."),
    (
        "Las pruebas usan la base de datos compartida.",
        "Las pruebas no usan la base de datos compartida.",
    ),
    ("在生产环境运行数据库迁移。", "不要在生产环境运行数据库迁移。"),
]

# Alike or about one thing, but both can hold, or one cannot tell.
AGREE = [
    ("The read timeout is 30 s.", "The write timeout is 60 s."),
    ("Fixed the flaky login test in #120.", "Fixed the flaky login test in #121."),
    ("The release was cut on 2026-01-05.", "The release was cut on 2026-02-05."),
    ("Run the migrations before the deploy.", "Deploy after running the migrations."),
    ("Never commit secrets to the repository.", "Commit early and often to the repository."),
    ("Use Chrome for the e2e tests.", "Use Firefox for the e2e tests."),
    (
        "The max pool size is set by the platform team.",
        "The min pool size is set by the platform team.",
    ),
    ("Deploy on Fridays when the on-call engineer agrees.", "Do not deploy on Fridays."),
    ("Do not forget to run the migrations.", "Run the migrations."),
    ("Never disable the linter in the web package.", "Enable the linter in the web package."),
    (
        "Restart the billing worker after a deploy.",
        "Never restart the search worker after a deploy.",
    ),
    (
        "Mock the clock in the tests.",
        "Mock the clock in the tests of the scheduler, not the database.",
    ),
]


def near(a: str, b: str) -> bool:
    return near_duplicate(claim(a), claim(b))


def test_the_table_has_no_wrong_merge_and_nine_tenths_of_the_duplicates() -> None:
    """Over the whole table nothing is merged wrongly and at least 90 % of the duplicates are found."""
    assert len(MERGE) + len(APART) + len(CONTRADICT) + len(AGREE) >= 70
    assert [row for row in APART + CONTRADICT + AGREE if near(*row[:2])] == []
    assert sum(near(*row) for row in MERGE) >= 0.9 * len(MERGE)


@pytest.mark.parametrize(("a", "b"), MERGE)
def test_the_guard_lets_rewordings_of_one_lesson_pass(a: str, b: str) -> None:
    """Casing, punctuation, filler, emphasis and reordered parts are no difference of claim."""
    assert guard(claim(a), claim(b)) is None


@pytest.mark.parametrize(("a", "b", "reason"), APART)
def test_different_claims_are_kept_apart_for_the_right_reason(
    a: str, b: str, reason: str | None
) -> None:
    """Two sentences that differ in what they claim never merge, in either direction."""
    found = guard(claim(a), claim(b))
    assert found is not None
    assert not near(a, b) and not near(b, a)
    assert reason is None or found == reason


@pytest.mark.parametrize(("a", "b"), CONTRADICT)
def test_opposite_claims_contradict_each_other(a: str, b: str) -> None:
    """Opposite claims about one thing are contradictions in both directions, and no duplicates."""
    assert contradiction(claim(a), claim(b)) and contradiction(claim(b), claim(a))
    assert not near(a, b)


@pytest.mark.parametrize(("a", "b"), AGREE)
def test_unsure_is_no_contradiction(a: str, b: str) -> None:
    """Claims that can both hold are no contradiction."""
    assert not contradiction(claim(a), claim(b)) and not contradiction(claim(b), claim(a))


@pytest.mark.parametrize(("a", "b"), MERGE)
def test_duplicates_do_not_contradict_each_other(a: str, b: str) -> None:
    """No pair of duplicates is a contradiction."""
    assert not contradiction(claim(a), claim(b))


def test_the_duplicates_of_the_table_are_such_as_compaction_meets() -> None:
    """Nine tenths of the table's duplicates lie above the threshold by their words alone."""
    assert sum(jaccard(claim(a), claim(b)) > 0.8 for a, b in MERGE) >= 0.9 * len(MERGE)


def test_most_rows_to_be_kept_apart_would_merge_without_the_guard() -> None:
    """The table tries the guard, not the threshold: most of the pairs to keep apart are above it."""
    assert sum(jaccard(claim(a), claim(b)) > 0.8 for a, b, _ in APART) >= 0.8 * len(APART)


# -- what a claim holds


def test_an_empty_body_is_like_nothing() -> None:
    """Two bodies without a word have Jaccard 0 and are no duplicates."""
    assert jaccard(claim(""), claim("🚀 --- !")) == 0.0
    assert not near_duplicate(claim(""), claim(""))


def test_words_without_spaces_between_them_are_character_pairs() -> None:
    """Chinese, Japanese and Thai count by bigrams, so that one more character is a small
    difference.
    """
    assert claim("数据库").words == {"数据", "据库"}
    assert len(claim("ทดสอบ").words) == 4


def test_the_date_of_a_heading_is_no_word() -> None:
    """A date that leads a heading is metadata; one in the sentence is a claim."""
    assert claim("## [2026-02-10] Freeze time") == claim("### Freeze time")
    assert claim("Freeze ends on 2026-02-10").numbers == {"2026-02-10"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("wait 30 s", {"30 s"}),
        ("wait 30s", {"30 s"}),
        ("wait half of 2 minutes", {"120 s"}),
        ("version v2.4.1", {"2.4.1"}),
        ("2.0.0-rc1 or 3.x", {"2.0.0-rc1", "3.x"}),
        ("1,000 rows, 80% of them", {"1000", "80 %"}),
        ("on 10.0.0.1:8080", {"10.0.0.1:8080"}),
        ("three of seven", {"3", "7"}),
    ],
)
def test_numbers_are_read_with_their_unit(text: str, numbers: set[str]) -> None:
    """One quantity has one reading, however it is spelt."""
    assert claim(text).numbers == numbers


def test_one_quantity_in_two_units_is_no_dispute() -> None:
    """60 s and 1 minute are neither kept apart nor contradictory."""
    a, b = claim("The timeout is 60 s."), claim("The timeout is 1 minute.")
    assert guard(a, b) is None
    assert not contradiction(a, b)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see src/a.py.", {"src/a.py"}),
        ("see `./src/a.py`, e.g. today", {"src/a.py"}),
        ("CI/CD and/or TCP/IP", set()),
        ("ignore **/*.snap and *.log", {"**/*.snap", "*.log"}),
        ("edit .env and package.json", {".env", "package.json"}),
        ("at https://example.com/a?b=1.", {"https://example.com/a?b=1"}),
    ],
)
def test_paths_are_told_from_words_with_a_stroke(text: str, paths: set[str]) -> None:
    """Files, globs, dotted names and URLs are paths; "and/or" is not."""
    assert claim(text).paths == paths


def test_importing_costs_no_heavy_module() -> None:
    """The recall path may import these modules: neither numpy nor difflib nor sqlite3 comes with
    it.
    """
    names = "memcli.similarity.contradictions, memcli.similarity.duplicates"
    code = f"import sys, {names}; print(sorted(sys.modules.keys() & set(sys.argv[1:])))"
    heavy = ["numpy", "difflib", "sqlite3", "yaml", "dataclasses", "unicodedata", "inspect"]
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# -- properties

SENTENCES = [text for rows in (MERGE, APART, CONTRADICT, AGREE) for row in rows for text in row[:2]]
TEXTS = st.one_of(st.sampled_from(SENTENCES), st.text(max_size=60))
VOCABULARY = "use not never a b cache redis before after `x` --force 3 5 src/a.py and , . 不要 数据库 if only".split()
PHRASES = st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)


@given(st.one_of(TEXTS, PHRASES), st.one_of(TEXTS, PHRASES))
def test_no_verdict_depends_on_the_side(a: str, b: str) -> None:
    """Jaccard, guard, near-duplicate and contradiction are symmetric."""
    x, y = claim(a), claim(b)
    assert jaccard(x, y) == jaccard(y, x)
    assert guard(x, y) == guard(y, x)
    assert near_duplicate(x, y) == near_duplicate(y, x)
    assert contradiction(x, y) == contradiction(y, x)


@given(st.one_of(TEXTS, PHRASES))
def test_no_claim_differs_from_itself(text: str) -> None:
    """A body is guarded from and contradicts neither itself nor an equal body."""
    assert guard(claim(text), claim(text)) is None
    assert not contradiction(claim(text), claim(text))


@given(st.one_of(TEXTS, PHRASES), st.one_of(TEXTS, PHRASES))
def test_what_merges_does_not_contradict(a: str, b: str) -> None:
    """No pair is a near-duplicate and a contradiction at once."""
    assert not (near_duplicate(claim(a), claim(b)) and contradiction(claim(a), claim(b)))


WORD_SETS = st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=9), max_size=25)


def _bag(words: frozenset[str]) -> Claim:
    return claim(" ".join(f"w{word}" for word in sorted(words)))


@given(WORD_SETS, st.sampled_from([0.0, 0.2, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]))
def test_similar_pairs_are_those_of_brute_force(
    sets: list[frozenset[str]], threshold: float
) -> None:
    """The prefix filter loses no pair and adds none, at thresholds that scores hit exactly too."""
    claims = [_bag(words) for words in sets]
    brute = [
        (i, j, jaccard(claims[i], claims[j]))
        for i in range(len(claims))
        for j in range(i + 1, len(claims))
        if jaccard(claims[i], claims[j]) > threshold
    ]
    assert similar_pairs(claims, threshold) == brute


def _texts_of(claims: list[Claim], texts: list[str]) -> tuple[set[frozenset[str]], ...]:
    found = clusters(claims)
    merged = {frozenset(texts[i] for i in c.members) for c in found if not c.guarded}
    return merged, {frozenset(texts[i] for i in c.members) for c in found if c.guarded}


@settings(max_examples=40)
@given(st.lists(st.sampled_from(SENTENCES), max_size=40), st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order(texts: list[str], rng: random.Random) -> None:
    """Shuffled entries form the same clusters, and the same pairs contradict."""
    shuffled = rng.sample(texts, len(texts))
    first, second = [claim(text) for text in texts], [claim(text) for text in shuffled]
    assert _texts_of(first, texts) == _texts_of(second, shuffled)
    before = {frozenset((texts[i], texts[j])) for i, j in contradictions(first)}
    assert before == {frozenset((shuffled[i], shuffled[j])) for i, j in contradictions(second)}


@settings(max_examples=40)
@given(st.lists(st.sampled_from(SENTENCES), unique=True, max_size=40))
def test_clusters_are_the_components_of_the_near_duplicates(texts: list[str]) -> None:
    """Two bodies share a cluster exactly when a chain of near-duplicates joins them."""
    claims = [claim(text) for text in texts]
    component = list(range(len(claims)))
    for i in range(len(claims)):
        for j in range(i):
            if near_duplicate(claims[i], claims[j]):
                old, new = component[i], component[j]
                component = [new if c == old else c for c in component]
    groups = {tuple(i for i, c in enumerate(component) if c == name) for name in component}
    assert [c.members for c in clusters(claims)] == sorted(
        group for group in groups if len(group) > 1
    )


# -- many claims


def test_a_chain_is_one_cluster() -> None:
    """Duplicates of duplicates belong together, though the ends of the chain are less alike."""
    words = "always freeze the clock in cart tests as discounts depend on dates".split()
    texts = [" ".join([*words, *"and coupons do so too".split()[:n]]) for n in (0, 2, 5)]
    claims = [claim(text) for text in texts]
    assert not near_duplicate(claims[0], claims[2])
    assert [c.members for c in clusters(claims)] == [(0, 1, 2)]


def test_a_component_with_a_guarded_pair_says_so() -> None:
    """What two members keep apart is reported, though a third is like both of them."""
    between = "Restart the worker after each deploy, its queue connection goes stale and jobs are lost then."
    texts = [
        between,
        between.replace("worker", "billing worker"),
        between.replace("worker", "search worker"),
    ]
    (cluster,) = clusters([claim(text) for text in texts])
    assert cluster.members == (0, 1, 2)
    assert cluster.guarded == ((1, 2, "word"),)


def test_guarded_pairs_do_not_join() -> None:
    """Two claims that a guard keeps apart form no cluster by themselves."""
    assert clusters([claim(a) for a in APART[0][:2]]) == []


def test_thousands_of_equal_bodies_are_one_cluster() -> None:
    """Equal bodies are grouped before they are compared."""
    text = "The same body stands in every one of these entries."
    (cluster,) = clusters([claim(text)] * 3000)
    assert cluster.members == tuple(range(3000))
    assert cluster.guarded == ()
    assert contradictions([claim(text)] * 3000) == []


def test_a_crowd_of_different_bodies_is_reported() -> None:
    """Hundreds of variations of one text come from a template and are not merged unseen."""
    base = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omicron"
    texts = [f"{base} {chr(97 + i % 26)}{chr(97 + i // 26)}q" for i in range(300)] + [base]
    found = clusters([claim(text) for text in texts])
    assert [len(c.members) for c in found] == [301]
    assert [reason for _, _, reason in found[0].guarded] == ["crowd"]


def test_contradictions_are_found_among_many() -> None:
    """Among all the table's sentences, every contradicting pair is named and no duplicate is."""
    claims = [claim(text) for row in CONTRADICT for text in row]
    found = contradictions(claims)
    assert {(i, i + 1) for i in range(0, len(claims), 2)} <= set(found)
    assert all(contradiction(claims[i], claims[j]) for i, j in found)


def test_a_series_of_numbers_is_no_contradiction() -> None:
    """Many values of one number are a log, two or three are a dispute."""
    assert contradictions([claim(f"Import took {n} rows.") for n in range(50)]) == []
    assert contradictions([claim("The pool has 5 workers."), claim("The pool has 9 workers.")]) == [
        (0, 1)
    ]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Restart node a after the deploy of the cart service finishes.",
         "Restart node b after the deploy of the cart service finishes.", "letter"),
        ("Backups of the build server live on drive C and are kept.",
         "Backups of the build server live on drive D and are kept.", "letter"),
        ("Run the migration before the deploy, never after it.",
         "Run the migration after the deploy, never before it.", "order"),
        ("Clear the cache before the index is built, not after.",
         "Clear the cache after the index is built, not before.", "order"),
        ("Use a fixture for the clock in cart tests.", "Use the fixture for the clock in cart tests.", None),
    ],
)  # fmt: skip
def test_single_letters_and_turned_orders(one: str, other: str, why: str | None) -> None:
    """A letter is a name, before is not after; an article more is neither."""
    assert guard(claim(one), claim(other)) == guard(claim(other), claim(one)) == why
