//go:build !linux

package child

// missingCapabilities are none where root may do everything.
func missingCapabilities() []string { return nil }

// searchCapability has nothing to offer where there are no capabilities.
func searchCapability() []uintptr { return nil }
