// Package console tests the console in a real browser, on one shared `holdfast dev`: each test sends its own events.
package console

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"holdfast/internal/devstack/stacktest"
)

// The state shared by the tests.
var (
	holdfast *stack
	chromium context.Context // of the browser; nil without one
)

// atOnce is the default number of parallel tests; -parallel overrides it.
const atOnce = "3"

func TestMain(m *testing.M) {
	stacktest.ExitIfShort()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	program := findChromium()
	if program == "" {
		fmt.Fprintln(os.Stderr, "there is no Chromium, so the console is not tested: apt-get install chromium-headless-shell")
		os.Exit(0)
	}
	os.Exit(stacktest.Main(m, func() (err error) {
		if holdfast, err = startStack(); err != nil {
			return err
		}
		chromium, err = startChromium(program) //nolint:fatcontext // it is no loop
		return err
	}))
}

// findChromium prefers the build without a user interface, which takes less than half of the CPU time.
func findChromium() string {
	for _, name := range []string{
		os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome",
	} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// startChromium starts the browser. Its sandbox doesn't work as root.
func startChromium(program string) (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	stacktest.StopAtExit(func() { end(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return ctx, nil
}
