// Package openapi checks that the clients of the operator API are what their generators make of operator/openapi.json.
// `make generate-clients` writes them.
package openapi
