// Package peers compares Holdfast with two other self-hosted webhook gateways, Convoy and Outpost.
//
// It builds them from their sources at pinned commits, runs each with the servers that it needs, sends the same load to all of
// them in interleaved rounds, and writes a table. Only the system that is measured runs; PostgreSQL is shared.
package peers
