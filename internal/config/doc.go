// Package config is the only package that reads the environment: it parses variables into one struct and reports all errors at
// once. Package reference generates the reference page (docs/configuration.md).
//
// It must not depend on what uses the values: the processes copy them into the options of each package. Values of secrets leave
// it only through Secret.Reveal, Config.Secrets and the options of the Temporal client.
package config

//go:generate go test . ./reference -run "TestReferencePageIsCurrent|TestTheListOfValuesInForceIsMasked" -update
