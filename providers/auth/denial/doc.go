// Package denial explains why a request isn't authentic: the ranked reasons, what was checked, what each means to an operator,
// and what to do next.
//
// It must not depend on a scheme, nor contain any part of a request or a secret: its words come from definitions, and reach
// logs.
package denial
