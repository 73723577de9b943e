package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// source is a checkout without changes: what a commit has, and nothing else.
type source struct {
	root, revision string
	// time is the commit's. Files of artifacts have it in place of the time of the build.
	time time.Time
}

func readSource(ctx context.Context, root string) (source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return source{}, err
	}
	s := source{root: root}
	changed, err := s.git(ctx, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" {
		return source{}, errors.New("the checkout differs from its commit: commit or stash these changes:\n" + changed)
	}
	head, err := s.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, err
	}
	revision, seconds, _ := strings.Cut(head, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("read time of commit %q: %w", head, err)
	}
	s.revision, s.time = revision, time.Unix(unix, 0).UTC()
	return s, nil
}

func (s source) git(ctx context.Context, arguments ...string) (string, error) {
	out, err := run(exec.CommandContext(ctx, "git", append([]string{"-C", s.root}, arguments...)...))
	return strings.TrimSpace(out), err
}

// run returns what a command prints, and an error with what it prints to stderr.
func run(command *exec.Cmd) (string, error) {
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, problems.String())
	}
	return string(out), nil
}
