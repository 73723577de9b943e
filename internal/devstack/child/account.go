package child

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// An Account is the unprivileged user that PostgreSQL runs as when we are root, because it refuses root.
type Account struct {
	Name         string
	uid, gid     uint32
	capabilities []uintptr // ambient capabilities of the child (Linux only)
}

// Unprivileged returns nil when we are not root. Else it returns an account that can reach every given path; where the
// file modes alone do not allow that (a clone below /root), it comes with a capability that does.
func Unprivileged(paths ...string) (*Account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no account is a valid answer: run the child as ourselves
	}
	acc, err := findAccount("postgres", "nobody")
	if err != nil {
		return nil, err
	}
	if missing := missingCapabilities(); len(missing) > 0 {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root, and this root, which lacks %s, cannot run it as %q: "+
			"run as an ordinary user, or set DATABASE_URL=postgres://you@127.0.0.1:5432/holdfast, a database that you have",
			strings.Join(missing, " and "), acc.Name)
	}
	for _, path := range paths {
		closed, err := closedDirectory(path, acc)
		if err != nil {
			return nil, err
		}
		if closed == "" {
			continue
		}
		if acc.capabilities = searchCapability(); acc.capabilities == nil {
			return nil, fmt.Errorf("PostgreSQL refuses to run as root, and user %q cannot enter %s: "+
				"run as an ordinary user, or put the data where that user can reach it, or `chmod o+x %s`",
				acc.Name, closed, closed)
		}
		return acc, nil
	}
	return acc, nil
}

func findAccount(names ...string) (*Account, error) {
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &Account{Name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and neither user postgres nor nobody exists: " +
		"run as an ordinary user")
}

// closedDirectory returns the topmost parent directory of path that the account may not enter, or "".
func closedDirectory(path string, acc *Account) (string, error) {
	closed := ""
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return "", fmt.Errorf("find the way to %s: %w", path, err)
		}
		if !mayEnter(info, acc) {
			closed = dir
		}
		if dir == filepath.Dir(dir) {
			return closed, nil
		}
	}
}

func mayEnter(info os.FileInfo, acc *Account) bool {
	mode := info.Mode().Perm()
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && owner.Uid == acc.uid:
		return mode&0o100 != 0
	case ok && owner.Gid == acc.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// Own gives a file or directory to the account.
func (a *Account) Own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}
