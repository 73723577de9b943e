//go:build !linux

package child

// missingCapabilities returns none where root may do everything.
func missingCapabilities() []string { return nil }

// searchCapability returns none where there are no capabilities.
func searchCapability() []uintptr { return nil }
