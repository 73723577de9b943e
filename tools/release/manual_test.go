package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/buildinfo"
)

var seeAlso = regexp.MustCompile(`\\fB(holdfast[a-z-]*)\(1\)\\fP`)

// Each command has a man page, which depends on the commit alone; the pages refer only to each other; and bash completes with the
// program. The archives and the package have them.
func TestTheManual(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the program")
	}
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	s, work, out := source{root: top, revision: "649160d", time: time.Unix(1e9, 0)}, t.TempDir(), t.TempDir()
	t.Setenv("TZ", "Pacific/Kiritimati")
	share, err := s.manual(t.Context(), work)
	require.NoError(t, err)
	program, again := filepath.Join(work, "holdfast-manual"), filepath.Join(work, "again")
	t.Setenv("TZ", "UTC")
	t.Setenv("HOME", out)
	require.NoError(t, s.writeManual(t.Context(), program, again))
	manual := readFiles(t, share)
	require.Equal(t, manual, readFiles(t, again))
	checkPages(t, manual)
	checkCompletion(t, program, filepath.Join(share, "bash-completion", "completions", "holdfast"))

	archive, server := filepath.Join(out, "archive.tar.gz"), temporal{program, filepath.Join(top, "LICENSE")}
	for _, pack := range []func() error{
		func() error { return s.archive(program, share, archive) },
		func() error { return s.devArchive(program, share, server, archive) },
	} {
		require.NoError(t, pack())
		packed, err := os.Open(archive)
		require.NoError(t, err)
		defer func() { _ = packed.Close() }()
		content, err := gzip.NewReader(packed)
		require.NoError(t, err)
		names := namesIn(t, content)
		for name, text := range manual {
			require.Equal(t, int64(len(text)), names["share/"+name], name)
		}
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("the package isn't checked: there is no dpkg-deb")
	}
	path := filepath.Join(out, "package.deb")
	require.NoError(t, s.debian(buildinfo.Version, program, share, "amd64", path))
	listed, err := exec.Command("dpkg-deb", "--contents", path).CombinedOutput()
	require.NoError(t, err, string(listed))
	for _, name := range []string{
		"man/man1/holdfast.1.gz", "man/man1/holdfast-dlq-replay.1.gz", "bash-completion/completions/holdfast",
		"zsh/vendor-completions/_holdfast", "fish/vendor_completions.d/holdfast.fish",
	} {
		require.Contains(t, string(listed), " ./usr/share/"+name+"\n")
	}
}

// readFiles returns the content of each file below a folder. Pages are decompressed.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filesBelow(dir, "share")
	require.NoError(t, err)
	all := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f.source)
		require.NoError(t, err)
		all[strings.TrimPrefix(f.name, "share/")] = string(text)
	}
	return all
}

func checkPages(t *testing.T, manual map[string]string) {
	t.Helper()
	pages := 0
	for name, compressed := range manual {
		if !strings.HasPrefix(name, "man/") {
			continue
		}
		pages++
		r, err := gzip.NewReader(strings.NewReader(compressed))
		require.NoError(t, err, name)
		page, err := io.ReadAll(r)
		require.NoError(t, err, name)
		require.Regexp(t, `(?m)^\.TH "HOLDFAST[A-Z\\-]*" "1" "Sep 2001" "holdfast `+regexp.QuoteMeta(buildinfo.Version)+`" "Holdfast"$`,
			string(page))
		require.NotContains(t, string(page), "cobra", name)
		for _, found := range seeAlso.FindAllStringSubmatch(strings.ReplaceAll(string(page), `\-`, "-"), -1) {
			require.Contains(t, manual, "man/man1/"+found[1]+".1.gz", name)
		}
	}
	require.Greater(t, pages, 100)
}

// checkCompletion asks bash to complete `holdfast dlq re`, without the library that Debian's package bash-completion has.
func checkCompletion(t *testing.T, program, completions string) {
	t.Helper()
	command := exec.Command("bash", "-ec", `
_get_comp_words_by_ref() { cur=re prev=dlq words=("$program" dlq re) cword=2; }
compopt() { true; }
source "$completions"
COMP_TYPE=9 COMP_LINE="holdfast dlq re" COMP_POINT=15 __start_holdfast
printf '%s\n' "${COMPREPLY[@]}"`)
	command.Env = append(os.Environ(), "program="+program, "completions="+completions)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	require.NoError(t, err, problems.String())
	require.Contains(t, string(out), "replay")
	require.Contains(t, string(out), "reopen")
	require.NotContains(t, string(out), "discard")
}
