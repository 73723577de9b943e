// Package child keeps a server running as a child process: started again when it ends, ended with us, run as an account that the
// server accepts, on ports that nobody else has, with its output in a file.
//
// It must never know which server that is.
package child
