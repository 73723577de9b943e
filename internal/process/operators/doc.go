// Package operators makes what people see of a running process: the operator API and the console over it, the pool that they
// have for themselves, who may call them, and the link that logs in.
//
// It must never start, stop or serve anything: when what is made here runs is the process's business.
package operators
