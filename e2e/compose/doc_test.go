// Package compose runs docker-compose.yml on a Docker engine of its own: images, hardening, order of starts, and load with a ledger
// while containers are killed, the engine is killed, and the release is upgraded. `make compose-test` runs it. The engine has a
// network namespace of its own without a way out, so this machine's network isn't changed and nothing is downloaded by a
// container.
package compose
