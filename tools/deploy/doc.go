// Package deploy holds nothing but tests: they render the chart in deploy/helm as Helm does, and judge what comes out without a
// cluster. They are a module of their own because the libraries of Kubernetes are larger than the product.
package deploy
