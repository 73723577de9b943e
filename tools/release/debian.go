package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// debian packages a program and its manual with the unit, the configuration file and the scripts of deploy/debian.
func (s source) debian(version, program, share, arch, to string) error {
	manual, err := filesBelow(share, "share")
	if err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(s.root, "deploy", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "holdfast", Version: version, Platform: "linux", Arch: arch, MTime: s.time, Section: "net", Priority: "optional",
		Maintainer: "Holdfast maintainers <maintainers@holdfast.example>",
		Description: "Webhook gateway that never loses an acknowledged event\n" +
			"Every event becomes one Temporal workflow. Needs a Temporal server and PostgreSQL.",
		Overridables: nfpm.Overridables{
			// The unit needs systemd, but a machine with another supervisor needs only the program.
			Recommends: []string{"systemd", "ca-certificates"},
			Suggests:   []string{"postgresql"},
			Scripts: nfpm.Scripts{
				PostInstall: at("debian/postinst"), PreRemove: at("debian/prerm"), PostRemove: at("debian/postrm"),
			},
			Contents: files.Contents{
				content(program, "/usr/bin/holdfast", "", 0o755),
				content(at("systemd/holdfast@.service"), "/usr/lib/systemd/system/holdfast@.service", "", 0o644),
				content("", "/etc/holdfast", files.TypeDir, 0o755),
				content("", "/etc/holdfast/providers", files.TypeDir, 0o755),
				content(at("systemd/holdfast.env"), "/etc/holdfast/holdfast.env", files.TypeConfigNoReplace, 0o600),
				content(filepath.Join(s.root, "LICENSE"), "/usr/share/doc/holdfast/copyright", "", 0o644),
				content(filepath.Join(s.root, "CHANGELOG.md"), "/usr/share/doc/holdfast/CHANGELOG.md", "", 0o644),
			},
			Deb: nfpm.Deb{Compression: "gzip"},
		},
	})
	for _, f := range manual {
		info.Contents = append(info.Contents, content(f.source, debianPath(f.name), "", 0o644))
	}
	for _, c := range info.Contents {
		c.FileInfo.MTime = s.time
	}
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return fmt.Errorf("prepare package: %w", err)
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if err := deb.Default.Package(info, out); err != nil {
		return fmt.Errorf("write package: %w", err)
	}
	return out.Close()
}

func content(from, to, kind string, mode os.FileMode) *files.Content {
	return &files.Content{
		Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode},
	}
}
