package definition

// Origin says where the definition of a provider comes from.
type Origin string

// The origins of a definition.
const (
	// OriginBuiltIn: a file of the built-in catalogue.
	OriginBuiltIn Origin = "built-in"
	// OriginOverridden: a user's file with the name of a built-in one, which extends or replaces it.
	OriginOverridden Origin = "overridden"
	// OriginOwn: a user's file with a name of its own.
	OriginOwn Origin = "own"
)
