package outgoing

// NameFor exports nameFor for tests.
var NameFor = nameFor
