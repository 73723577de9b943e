// Package archtest asserts the shape of this module and of the benchmark's: which packages there are, what each of them may
// import and why, what lies at the top level, and which versions of libraries are too old. The table stands in table.go; a
// change of the architecture begins there.
//
// Imports are judged as they are written, not by what they bring with them. Libraries that only tests import are free;
// packages of this module are not.
package archtest
