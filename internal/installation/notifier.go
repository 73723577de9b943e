package installation

import (
	"fmt"
	"strings"

	"holdfast/internal/config"
	"holdfast/internal/notify"
)

// NewNotifier returns a notifier for the configured channels, of which there may be none.
func NewNotifier(cfg config.Config) (*notify.Notifier, error) {
	notifier, err := notify.New(strings.Fields(cfg.Notify.URLs.Reveal())...)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_NOTIFY_URLS: %w", err)
	}
	return notifier, nil
}
