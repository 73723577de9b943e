// Package child keeps a server running as a child process: restarted when it ends, ended with us, run as an account that the
// server accepts, on free ports, with its output in a file.
//
// It must not depend on which server that is.
package child
