package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes, written as "256KiB", "1MiB" or "4096".
type ByteSize int64

// The units of a ByteSize.
const (
	KiB ByteSize = 1 << 10
	MiB ByteSize = 1 << 20
)

// UnmarshalText parses a whole number with an optional unit: B, KiB or MiB.
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

// String returns the size in the largest unit without a remainder.
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

// Port is a TCP port; 0 picks a free one.
type Port uint16

// UnmarshalText accepts 0 to 65535.
func (p *Port) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return errors.New("is not a port: a whole number from 0 to 65535")
	}
	*p = Port(n)
	return nil
}

// choose sets a value to one of at least two choices.
func choose[T ~string](value *T, text []byte, choices ...T) error {
	if !slices.Contains(choices, T(text)) {
		names := make([]string, len(choices))
		for i, c := range choices {
			names[i] = string(c)
		}
		last := len(names) - 1
		return fmt.Errorf("is neither %s nor %s", strings.Join(names[:last], ", "), names[last])
	}
	*value = T(text)
	return nil
}

// Ack is where an event must be committed before its sender gets a 2xx.
type Ack string

// The values of Ack.
const (
	// AckEither: the event is in Temporal or in the inbox.
	AckEither Ack = "either"
	// AckStored: it is in both stores.
	AckStored Ack = "stored"
)

// UnmarshalText accepts "either" or "stored".
func (a *Ack) UnmarshalText(text []byte) error { return choose(a, text, AckEither, AckStored) }

// LogFormat is the format of log lines.
type LogFormat string

// The formats.
const (
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// UnmarshalText accepts "json" or "text".
func (f *LogFormat) UnmarshalText(text []byte) error { return choose(f, text, LogJSON, LogText) }

// ReportPeriod is the interval of reports.
type ReportPeriod string

// The periods.
const (
	ReportOff    ReportPeriod = "off"
	ReportDaily  ReportPeriod = "daily"
	ReportWeekly ReportPeriod = "weekly"
)

// UnmarshalText accepts "off", "daily" or "weekly".
func (p *ReportPeriod) UnmarshalText(text []byte) error {
	return choose(p, text, ReportOff, ReportDaily, ReportWeekly)
}

// Length returns the time that a report covers; 0 for none.
func (p ReportPeriod) Length() time.Duration {
	const day = 24 * time.Hour
	switch p {
	case ReportDaily:
		return day
	case ReportWeekly:
		return 7 * day
	default:
		return 0
	}
}

// AddressList is a list of IP addresses and networks in CIDR notation.
type AddressList []string

// UnmarshalText parses a comma-separated list; white space around an entry is ignored.
func (l *AddressList) UnmarshalText(text []byte) error {
	var networks NetworkList
	if err := networks.UnmarshalText(text); err != nil {
		return err
	}
	*l = entriesOf(string(text))
	return nil
}

// entriesOf splits a list at its commas.
func entriesOf(list string) []string {
	entries := strings.Split(list, ",")
	for i := range entries {
		entries[i] = strings.TrimSpace(entries[i])
	}
	return entries
}

// String returns the list as written in the variable.
func (l AddressList) String() string { return strings.Join(l, ",") }

// NameList is a list of names.
type NameList []string

// UnmarshalText parses a comma-separated list; white space around an entry is ignored.
func (l *NameList) UnmarshalText(text []byte) error {
	*l = entriesOf(string(text))
	return nil
}

// String returns the list as written in the variable.
func (l NameList) String() string { return strings.Join(l, ",") }

// NetworkList is a list of networks; an address is a network of one.
type NetworkList []netip.Prefix

// UnmarshalText accepts the same as an AddressList.
func (l *NetworkList) UnmarshalText(text []byte) error {
	var list NetworkList
	for _, entry := range entriesOf(string(text)) {
		network, err := netip.ParsePrefix(entry)
		if address, notAddress := netip.ParseAddr(entry); notAddress == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("has %q, which is neither an IP address nor a network in CIDR form", entry)
		}
		list = append(list, network.Masked())
	}
	*l = list
	return nil
}

// String returns the list as written in the variable.
func (l NetworkList) String() string {
	entries := make([]string, len(l))
	for i, network := range l {
		entries[i] = network.String()
	}
	return strings.Join(entries, ",")
}

// OriginList is a list of web origins: scheme and host, with a port unless it is the scheme's default.
type OriginList []string

// UnmarshalText parses a comma-separated list. An origin must equal what browsers send, so it has neither a path nor a trailing
// slash.
func (l *OriginList) UnmarshalText(text []byte) error {
	list := OriginList(entriesOf(strings.ToLower(string(text))))
	for _, entry := range list {
		u, err := url.Parse(entry)
		if err != nil || u.Host == "" || entry != u.Scheme+"://"+u.Host || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("has %q, which is not scheme and host alone", entry)
		}
	}
	*l = list
	return nil
}

// String returns the list as written in the variable.
func (l OriginList) String() string { return strings.Join(l, ",") }

// Rate is a number of requests per span of time; the zero value is unset.
type Rate struct {
	Requests int
	Per      time.Duration
}

// UnmarshalText parses requests and span, such as 100/1m.
func (r *Rate) UnmarshalText(text []byte) error {
	requests, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(requests)
	span, spanErr := time.ParseDuration(per)
	if err != nil || spanErr != nil || n < 1 || span < time.Second || span > time.Hour {
		return errors.New("is not a rate: a whole number, a slash and a span from 1s to 1h")
	}
	*r = Rate{n, span}
	return nil
}

// String returns the rate as written in the variable.
func (r Rate) String() string {
	if r == (Rate{}) {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.Requests, r.Per)
}

// URLPath is an absolute path without a trailing slash, or "".
type URLPath string

var urlPath = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)

// UnmarshalText accepts letters, digits and . _ ~ - between slashes.
func (p *URLPath) UnmarshalText(text []byte) error {
	if !urlPath.Match(text) {
		return fmt.Errorf("is %q, which is no path that begins with a slash and ends without one", text)
	}
	*p = URLPath(text)
	return nil
}
