package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"holdfast/internal/buildinfo"
)

// nonroot is the user of distroless images, which deploy/Dockerfile and the chart use.
const nonroot = 65532

// image writes an image that `docker load` reads. It has no base, because a base from a registry can change under its tag: what
// a static program needs are certificates, a user and a folder for temporary files.
func (s source) image(program string, p platform, to string) error {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	base, err := s.layer([]file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates.Bytes()},
		{name: "home/", mode: 0o755}, {name: "home/nonroot/", mode: 0o700, owner: nonroot},
		{name: "tmp/", mode: 0o1777},
	})
	if err != nil {
		return err
	}
	top, err := s.layer([]file{{name: "holdfast", mode: 0o755, source: program}})
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, base, top)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Config = p.os, p.arch, v1.Time{Time: s.time}, s.imageConfig()
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return err
	}
	tag, err := name.NewTag("holdfast:" + buildinfo.Version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(to, tag, image)
}

func (s source) layer(files []file) (v1.Layer, error) {
	var content bytes.Buffer
	if err := writeTar(&content, files, s.time); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
}

// imageConfig says the same as deploy/Dockerfile.
func (s source) imageConfig() v1.Config {
	return v1.Config{
		User: "65532:65532", Entrypoint: []string{"/holdfast"}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}},
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/holdfast", "health"}, Interval: 10 * time.Second, Timeout: 6 * time.Second,
			StartPeriod: 30 * time.Second, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title": "holdfast", "org.opencontainers.image.version": buildinfo.Version,
			"org.opencontainers.image.revision": s.revision,
		},
	}
}
