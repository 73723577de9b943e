// Command release builds everything that a release publishes into a folder: an archive per platform with its list of
// dependencies, an image and a Debian package for each Linux, the chart, the clients, and the checksums of all. The same commit
// and Go version give the same bytes, in any folder. It must not change the sources or need a network, apart from modules and the
// packages of npm that the lock file of the TypeScript client names.
package main
