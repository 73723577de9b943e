package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes, written as "256KiB", "1MiB" or "4096".
type ByteSize int64

// The units of a ByteSize.
const (
	KiB ByteSize = 1 << 10
	MiB ByteSize = 1 << 20
)

// UnmarshalText reads a whole number with an optional unit: B, KiB or MiB.
func (b *ByteSize) UnmarshalText(text []byte) error {
	digits, unit := string(text), ByteSize(1)
	for suffix, size := range map[string]ByteSize{"KiB": KiB, "MiB": MiB} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = rest, size
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(digits, "B")), 10, 32)
	if err != nil || n < 0 {
		return errors.New("is not a size: a whole number with the unit B, KiB or MiB")
	}
	*b = ByteSize(n) * unit
	return nil
}

// String is the size in the largest unit that fits without rest.
func (b ByteSize) String() string {
	switch {
	case b >= MiB && b%MiB == 0:
		return fmt.Sprintf("%dMiB", b/MiB)
	case b >= KiB && b%KiB == 0:
		return fmt.Sprintf("%dKiB", b/KiB)
	default:
		return fmt.Sprintf("%dB", int64(b))
	}
}

// Port is a TCP port; 0 is any free one.
type Port uint16

// UnmarshalText reads 0 to 65535.
func (p *Port) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return errors.New("is not a port: a whole number from 0 to 65535")
	}
	*p = Port(n)
	return nil
}

// LogFormat is the form of log lines.
type LogFormat string

// The formats.
const (
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// UnmarshalText reads "json" or "text".
func (f *LogFormat) UnmarshalText(text []byte) error {
	switch v := LogFormat(text); v {
	case LogJSON, LogText:
		*f = v
		return nil
	default:
		return errors.New("is neither json nor text")
	}
}

// AddressList is a list of IP addresses and networks in CIDR form.
type AddressList []string

// UnmarshalText reads a list that is separated by commas; white space around an entry is ignored.
func (l *AddressList) UnmarshalText(text []byte) error {
	var list AddressList
	for entry := range strings.SplitSeq(string(text), ",") {
		entry = strings.TrimSpace(entry)
		_, notAddr := netip.ParseAddr(entry)
		_, notPrefix := netip.ParsePrefix(entry)
		if notAddr != nil && notPrefix != nil {
			return fmt.Errorf("has %q, which is neither an IP address nor a network in CIDR form", entry)
		}
		list = append(list, entry)
	}
	*l = list
	return nil
}

// String is the list as it is written in the variable.
func (l AddressList) String() string { return strings.Join(l, ",") }

// OriginList is a list of web origins: scheme and host, with a port where it is not the scheme's own.
type OriginList []string

// UnmarshalText reads a list that is separated by commas. An origin is compared as a whole with what browsers send, so it has
// neither a path nor a slash at its end.
func (l *OriginList) UnmarshalText(text []byte) error {
	var list OriginList
	for entry := range strings.SplitSeq(string(text), ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		u, err := url.Parse(entry)
		if err != nil || u.Host == "" || entry != u.Scheme+"://"+u.Host || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("has %q, which is not scheme and host alone", entry)
		}
		list = append(list, entry)
	}
	*l = list
	return nil
}

// String is the list as it is written in the variable.
func (l OriginList) String() string { return strings.Join(l, ",") }
