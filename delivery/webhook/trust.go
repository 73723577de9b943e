package webhook

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/clienttls"
)

// trust names the certificate authority of a destination and the client certificate with its key, each as PEM text or a file; all
// may be empty.
type trust struct{ ca, certificate, key string }

// stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// id identifies the client with these files that connects through a proxy.
func (t trust) id(via string) [sha256.Size]byte {
	return sha256.Sum256([]byte(via + "\x00" + t.ca + "\x00" + t.certificate + "\x00" + t.key))
}

func (t trust) stamps(in folder) (all [3]stamp, err error) {
	for i, name := range []string{t.ca, t.certificate, t.key} {
		if name == "" || delivery.IsPEM(name) {
			continue
		}
		if all[i], err = in.stamp(name); err != nil {
			return all, errFiles
		}
	}
	return all, nil
}

func (t trust) config(in folder) (*tls.Config, error) {
	key := t.key
	if key == delivery.MaskedHeader { // stored, and checked when it was
		key = ""
	}
	var parts [3]clienttls.Part
	for i, part := range [3]struct{ name, of string }{{"http.ca", t.ca}, {"http.certificate", t.certificate}, {"http.key", key}} {
		parts[i].Name = part.name
		if part.of == "" {
			continue
		}
		text, err := in.text(part.of)
		if err != nil {
			return nil, errFiles
		}
		parts[i].Text = text
	}
	return clienttls.Config(parts[0], parts[1], parts[2])
}

var errFiles = errors.New("can't read a certificate file: it must be in the folder that workers have as " +
	"HOLDFAST_DELIVERIES_CERTIFICATES=/etc/holdfast/certificates, or below it, and have at most 1 MiB")

// CheckFiles returns a function that rejects an endpoint whose certificates and keys can't be used. The error has the code
// delivery.CodeFilesUnread if this process can't read them, although it has the folder.
func CheckFiles(certificates string) func(delivery.HTTP) error {
	return func(h delivery.HTTP) error {
		_, err := trust{h.CA, h.Certificate, h.Key}.config(folder(certificates))
		switch {
		case err == nil, errors.Is(err, errFiles) && certificates == "":
			return nil
		case errors.Is(err, errFiles):
			return event.Rejectf(delivery.CodeFilesUnread, "this process %v; workers need the file, too", err)
		}
		return event.Rejectf("invalid_destination", "%v", err)
	}
}

// CertificateEnd returns a function that returns when an endpoint's client certificate expires; false if it has none, or this
// process can't read it.
func CertificateEnd(certificates string) func(delivery.HTTP) (time.Time, bool) {
	return func(h delivery.HTTP) (end time.Time, ok bool) {
		if h.Certificate == "" {
			return end, false
		}
		text, err := folder(certificates).text(h.Certificate)
		if err != nil {
			return end, false
		}
		all := readCertificates(text)
		if len(all) == 0 {
			return end, false
		}
		return all[0].NotAfter, true
	}
}

// folder is the only place for certificate files; "" allows none. Paths and links can't escape it.
type folder string

// open opens a file by its path, absolute or relative to the folder. The caller closes both.
func (f folder) open(name string) (file *os.File, root *os.Root, err error) {
	if f == "" {
		return nil, nil, os.ErrNotExist
	}
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(string(f), name); err != nil {
			return nil, nil, err
		}
	}
	if root, err = os.OpenRoot(string(f)); err != nil {
		return nil, nil, err
	}
	info, err := root.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > delivery.MaxPEM) {
		err = os.ErrInvalid // opening a pipe would block
	}
	if err == nil {
		file, err = root.Open(name)
	}
	if err != nil {
		_ = root.Close()
		return nil, nil, err
	}
	return file, root, nil
}

func (f folder) stamp(name string) (stamp, error) {
	file, root, err := f.open(name)
	if err != nil {
		return stamp{}, err
	}
	defer func() { _, _ = file.Close(), root.Close() }()
	info, err := file.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// text returns PEM text as it is, and else reads the file of that name.
func (f folder) text(pemOrName string) ([]byte, error) {
	if delivery.IsPEM(pemOrName) {
		return []byte(pemOrName), nil
	}
	return f.read(pemOrName)
}

func (f folder) read(name string) ([]byte, error) {
	file, root, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = file.Close(), root.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, delivery.MaxPEM+1))
	if len(text) > delivery.MaxPEM {
		return nil, os.ErrInvalid
	}
	return text, err
}
