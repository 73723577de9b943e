// Package config is the one place that reads the environment: it turns variables into one struct, reports everything
// that is wrong with them at once. Package reference makes the reference page of it (docs/configuration.md).
//
// It must never know what the values are used for: the processes copy them into the options of each package. No value of a
// secret leaves it other than through Secret.Reveal, Config.Secrets and the options of the Temporal client.
package config

//go:generate go test . ./reference -run "TestReferencePageIsCurrent|TestTheListOfValuesInForceIsMasked" -update
