package outgoing

// NameFor is the name for who gives none, for tests.
var NameFor = nameFor
