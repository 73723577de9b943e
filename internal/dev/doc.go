// Package dev is `holdfast dev`: it starts the servers that the environment doesn't name, prepares them, and runs every role in
// this process until Ctrl-C.
//
// No other package may need it: package process runs in production, and package devstack starts servers.
package dev
