// Package devstack runs the two servers that Holdfast needs, for development and for tests: a private PostgreSQL and a Temporal
// dev server, both on child.Loopback, both as children of this process, with their data in one directory.
//
// It survives being killed: a child that dies is restarted on the same port and data, children die with us (Linux), and a start
// first ends what an earlier run left behind. It handles programs, ports and directories; it must not depend on what Holdfast
// stores in them, so it imports no domain package.
//
// Order of use: [Claim] the directory, [CheckPorts], then [StartPostgres] and [StartTemporal]; stop in reverse.
package devstack
