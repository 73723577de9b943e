package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheRunningBinaryKnowsItsToolchain(t *testing.T) {
	t.Parallel()
	require.Equal(t, runtime.Version(), Read().Go)
	require.Equal(t, Version, Read().Version)
}

func TestABuildOfAChangedTreeSaysSo(t *testing.T) {
	t.Parallel()
	info := from(&debug.BuildInfo{GoVersion: "go1.26.8", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "649160d"}, {Key: "vcs.modified", Value: "true"},
	}})
	require.Equal(t, "holdfast "+Version+" (commit 649160d, modified, go1.26.8)", info.String())
	require.Equal(t, Version+"-649160d-modified", info.ID())
	require.Equal(t, "unknown", from(&debug.BuildInfo{}).Revision)
}
