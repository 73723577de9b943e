package eventtype

// SharesSchema reports whether two catalogs have the same compiled schema.
func SharesSchema(a, b *Catalog, name, version string) bool {
	return a.types[name].versions[version].schema == b.types[name].versions[version].schema
}
