// Package cluster installs the Helm chart in a Kubernetes of two nodes that it starts. It compares ledgers with what is stored
// after upgrades, rollbacks, drains and kills under load, and checks admission and the rotation of secrets. `make cluster-test`
// runs it. Each node has its own network namespace, and no route leaves them: this machine's network isn't changed.
package cluster
