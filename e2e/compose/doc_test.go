// Package compose runs docker-compose.yml on a Docker engine that it starts: it checks images, hardening and the order of starts, and
// compares a ledger with what is stored after containers were killed and the release was upgraded under load. `make compose-test`
// runs it. The engine has its own network namespace, which leads nowhere: this machine's network isn't changed, and no container
// downloads anything.
package compose
