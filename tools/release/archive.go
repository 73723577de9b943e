package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is an entry of an archive. Directories have neither a source nor content.
type file struct {
	name    string
	mode    int64
	owner   int
	source  string
	content []byte
}

// writeTar writes files in the order given, all with one time.
func writeTar(w io.Writer, files []file, at time.Time) error {
	archive := tar.NewWriter(w)
	for _, f := range files {
		if f.source != "" {
			var err error
			if f.content, err = os.ReadFile(f.source); err != nil {
				return err
			}
		}
		header := tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, ModTime: at, Size: int64(len(f.content)),
			Format: tar.FormatPAX,
		}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&header); err != nil {
			return fmt.Errorf("add %s: %w", f.name, err)
		}
		if _, err := archive.Write(f.content); err != nil {
			return fmt.Errorf("add %s: %w", f.name, err)
		}
	}
	return archive.Close()
}

func writeTarGz(to string, files []file, at time.Time) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	compressed := gzip.NewWriter(out)
	if err := writeTar(compressed, files, at); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return out.Close()
}

// archive packs a program with what a user needs next to it, and its manual.
func (s source) archive(program, share, to string) error {
	manual, err := filesBelow(share, "share")
	if err != nil {
		return err
	}
	files := append([]file{{name: "holdfast", mode: 0o755, source: program}}, manual...)
	for _, name := range []string{"LICENSE", "CHANGELOG.md", "deploy/systemd/holdfast@.service", "deploy/systemd/holdfast.env"} {
		files = append(files, file{name: path.Base(name), mode: 0o644, source: filepath.Join(s.root, name)})
	}
	return writeTarGz(to, files, s.time)
}

// benchArchive packs the program that loads an installation and checks it.
func (s source) benchArchive(program, to string) error {
	return writeTarGz(to, []file{
		{name: "holdfast-bench", mode: 0o755, source: program},
		{name: "LICENSE", mode: 0o644, source: filepath.Join(s.root, "LICENSE")},
	}, s.time)
}

// devArchive packs a program and its manual with the Temporal that `holdfast dev` looks for next to it.
func (s source) devArchive(program, share string, server temporal, to string) error {
	manual, err := filesBelow(share, "share")
	if err != nil {
		return err
	}
	return writeTarGz(to, append([]file{
		{name: "holdfast", mode: 0o755, source: program}, {name: "temporal", mode: 0o755, source: server.program},
		{name: "LICENSE", mode: 0o644, source: filepath.Join(s.root, "LICENSE")},
		{name: "temporal.LICENSE", mode: 0o644, source: server.license},
	}, manual...), s.time)
}

// chart packs the committed files of the chart as `helm package` does, which sets the time of the build.
func (s source) chart(ctx context.Context, to string) error {
	files, err := s.committed(ctx, "deploy/helm/", "holdfast")
	if err != nil {
		return err
	}
	return writeTarGz(to, files, s.time)
}

// committed returns the committed files of a folder of the checkout, as entries of an archive below another one. The pathspecs of
// git in except leave files out.
func (s source) committed(ctx context.Context, dir, below string, except ...string) ([]file, error) {
	listed, err := s.git(ctx, append([]string{"ls-files", dir}, except...)...)
	if err != nil {
		return nil, err
	}
	var files []file
	for name := range strings.SplitSeq(listed, "\n") {
		files = append(files, file{
			name: path.Join(below, strings.TrimPrefix(name, dir)), mode: 0o644, source: filepath.Join(s.root, name),
		})
	}
	return files, nil
}
