// Package devstack runs the two servers that Holdfast stands on, for development and for tests: a private PostgreSQL
// and a Temporal dev server, both on child.Loopback, both as children of this process, with their data in one directory.
//
// It is made for being killed: a child that dies is started again on the same port and data, children die with us
// (Linux), and a start first ends what an earlier run left behind. It knows programs, ports and directories; it must
// never know what Holdfast keeps in them, so it imports no domain package.
//
// Order of use: [Claim] the directory, [CheckPorts], then [StartPostgres] and [StartTemporal]; stop in reverse.
package devstack
