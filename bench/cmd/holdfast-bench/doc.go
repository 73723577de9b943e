// Command holdfast-bench sends signed events to any installation and checks what became of them. It measures from outside, and
// must not depend on how an ingress receives.
package main
