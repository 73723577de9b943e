// Command release builds everything that a release publishes into a folder: an archive per platform with its list of
// dependencies, an image and a Debian package for each Linux, the chart, and the checksums of all. The same commit and Go
// version give the same bytes, in any folder. It must not change the sources or need a network, apart from modules.
package main
