// Package observe checks what Holdfast is watched by: the rules in deploy/prometheus and the dashboards in deploy/grafana. It is
// a module of its own, so that Prometheus's parser is no dependency of the product.
package observe
