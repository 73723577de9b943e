// Package infer finds the parts of an event in a captured body: the events of a batch, and in one of them its type, its ID and
// its time. Its rules are about names, values and neighborhoods of fields, and never about one provider.
//
// It must not depend on definitions: it returns jq and no opinion on how certain that is.
package infer
