package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// IsTerminal says whether x is an open terminal.
func IsTerminal(x any) bool {
	f, ok := x.(*os.File)
	return ok && f != nil && isTerminal(f)
}

// OpenBrowser asks the desktop to open a URL. It fails where there is no desktop.
func OpenBrowser(ctx context.Context, url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return fmt.Errorf("there is no desktop to open %s on", "a browser")
		}
	}
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil {
		return fmt.Errorf("open a browser: %w", err)
	}
	return nil
}
