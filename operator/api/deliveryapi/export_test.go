package deliveryapi

// NameFor exports nameFor for tests.
var NameFor = nameFor
