// Package ab compares the product with another revision of it, in turns on the same servers.
package ab
