import ArgumentParser

/// How completion scripts insert text from outside: names that any client may have given, and names
/// of files. No shell may expand, evaluate or split it.
package enum NameCompletion {
  /// A command that prints nothing: in a script of unknown form, no names are completed.
  fileprivate static func command(_ names: String) -> String { ": haul \(names)" }

  /// True if a shell takes it as the name that it is, and a program as no option. The shell quotes
  /// a space.
  package static func isSafe(_ name: String) -> Bool {
    let scalars = name.unicodeScalars
    guard let first = scalars.first, first == "_" || isAlphanumeric(first) else { return false }
    return scalars.last != " "
      && scalars.allSatisfy { isAlphanumeric($0) || isMark($0) || inner.contains($0) }
  }

  /// What the scripts read: the names that are safe, one per line. Others can be typed.
  package static func lines(_ names: [String]) -> String {
    Set(names).filter(isSafe).sorted().map { $0 + "\n" }.joined()
  }

  private static let inner = Set("_-.,:/@%+= ".unicodeScalars)

  private static func isAlphanumeric(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber:
      return true
    default: return false
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    [.nonspacingMark, .spacingMark].contains(scalar.properties.generalCategory)
  }

  /// The completion script of any shell, with what is safe in place of what the parser generates.
  static func added(to script: String) -> String {
    var script = script
    for names in ["transfers", "groups"] {
      let command = command(names)
      for (unsafe, safe) in [
        ("__haul_add_completions -W \"$(eval '\(command)')\"", "__haul_add_names \(names)"),
        (
          "{local -a list;list=(${(f)\"$(\(command))\"});_describe -V \"\" list}",
          "{__haul_add_names \(names)}"
        ),
        // fish quotes what it inserts, but for `~`, and ends a name at a tab.
        (
          "'(\(command))'",
          "'(haul list --names \(names) 2>/dev/null | string match -rv \"^~|\\t\")'"
        ),
      ] { script.replace(unsafe, with: safe) }
    }
    for (unsafe, safe) in replacements { script.replace(unsafe, with: safe) }
    return script
  }

  private static let replacements = [
    ("\ncomplete -o filenames -F _haul haul", bash + "\ncomplete -o filenames -F _haul haul"),
    ("\nif [[ \"${funcstack[1]}\" = _haul ]]", zsh + "\nif [[ \"${funcstack[1]}\" = _haul ]]"),
    // Readline's own completion keeps a name with a line break whole; bash 3 cannot ask for it.
    (
      "  __haul_add_completions -f\n",
      "  compopt -o default 2>/dev/null || __haul_add_completions -f\n"
    ),
    (
      "  __haul_add_completions -d\n",
      "  compopt -o dirnames 2>/dev/null || __haul_add_completions -d\n"
    ),
    // Else `!` is inserted without a quote, and expanded when the line is run.
    ("    unsetopt aliases banghist\n", "    unsetopt aliases\n"),
    // fish's argparse refuses a name with a dot, and an unknown option: it was called without end.
    (" 'http1.1' 'no-http1.1'", ""), (" http1.1' -l", "' -l"), (" no-http1.1' -l", "' -l"),
    (
      "argparse -sn \"$commands\" $option_specs -- $unparsed_tokens 2> /dev/null\n",
      "argparse -sn \"$commands\" $option_specs -- $unparsed_tokens 2> /dev/null; or break\n"
    ),
    // fish takes what stands after a line break or a tab for something else.
    ("    printf %s\\n $subdirs\n", "    string match -rv '[\\t\\n]' -- $subdirs\n"),
  ]

  /// Readline quotes a file name with a space, but takes `$` or "`" in one as an expansion.
  private static let bash = #"""

    __haul_add_names() {
        local name quoted
        while IFS='' read -r name; do
            printf -v quoted %q "${name}"
            [[ "${quoted//\\ / }" = "${name}" ]] || continue
            [[ "${name}" = "${cur}"* || "${quoted}" = "${cur}"* ]] && COMPREPLY+=("${name}")
        done < <(haul list --names "${1}" 2>/dev/null)
    }

    """#

  private static let zsh = #"""

    __haul_add_names() {
        local -a names
        names=(${(f)"$(haul list --names "${1}" 2>/dev/null)"})
        compadd -V names -a names
    }

    """#
}

extension CompletionKind {
  /// From the running daemon; nothing when none runs.
  static let transfers = CompletionKind.shellCommand(NameCompletion.command("transfers"))
  static let groups = CompletionKind.shellCommand(NameCompletion.command("groups"))
}
