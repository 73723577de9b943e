package providers

import "time"

// Sign adds to r what makes it authentic with this secret, by the first of the definition's schemes that can use it:
// the headers of a signature, or a token in its place. The error is an *AuthError if no scheme can.
func (p *Provider) Sign(r *Request, secret string, now time.Time) error {
	err := deny(ReasonNoSecret)
	for _, s := range p.schemes {
		if err = s.sign(r, secret, now); err == nil {
			return nil
		}
	}
	return err
}
