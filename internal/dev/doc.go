// Package dev is `holdfast dev`: it starts the servers that the environment does not name, prepares them, and runs every role in
// this process until Ctrl-C.
//
// It must never be needed elsewhere: what runs in production is package process, how servers are started is package devstack.
package dev
