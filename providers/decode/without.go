package decode

import "io"

// WriteWithout writes the body without the values at the paths; ok is false if it is not JSON.
func WriteWithout(w io.Writer, body []byte, paths [][]string) (ok bool) {
	if checkText(body) != nil {
		return false
	}
	s := sieve{reader: newReader(body), to: w}
	if s.pass(paths) != nil || s.end() != nil {
		return false
	}
	_, err := io.WriteString(w, s.data[s.written:])
	return err == nil
}

type sieve struct {
	reader

	to      io.Writer
	written int // up to where the body is written or left out
}

// pass processes the next value as deep as the paths lead.
func (s *sieve) pass(paths [][]string) error {
	if s.peek() != '{' {
		return s.skip()
	}
	return s.fields(func(name string) error {
		var below [][]string
		for _, path := range paths {
			switch {
			case path[0] != name:
			case len(path) == 1:
				return s.leaveOut()
			default:
				below = append(below, path[1:])
			}
		}
		if below == nil {
			return s.skip()
		}
		return s.pass(below)
	})
}

func (s *sieve) leaveOut() error {
	s.peek()
	if _, err := io.WriteString(s.to, s.data[s.written:s.pos]); err != nil {
		return err
	}
	err := s.skip()
	s.written = s.pos
	return err
}
