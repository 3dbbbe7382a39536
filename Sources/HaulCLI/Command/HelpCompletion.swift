import HaulCore

/// Adds the commands after `haul help` to completion scripts.
enum HelpCompletion {
  private static let names = HaulCommand.names.filter { $0 != "help" }.joined(separator: " ")

  /// The completion script of any shell, with these commands added.
  static func added(to script: String) -> String {
    var script = script
    if let help = script.firstByteRange(of: "\n_haul_help() {\n") {
      let rest = help.upperBound..<script.endIndex
      let bash = "    __haul_offer_flags_options -1\n"
      let lines = names.replacingBytes(" ", with: "\\n")
      let zsh = "'*:subcommands:'"
      if let end = script[rest].firstRange(of: bash) {
        script.replaceSubrange(
          end, with: "    __haul_offer_flags_options 1\n    __haul_add_completions -W $'\(lines)'\n"
        )
      } else if let specification = script[rest].firstRange(of: zsh) {
        script.replaceSubrange(specification, with: "':command:(\(names))'")
      }
    } else if script.contains("complete -c 'haul'") {
      let condition = "__haul_should_offer_completions_for_positional \"haul help\" -eq 1"
      script += "\ncomplete -c 'haul' -n '\(condition)' -fa '\(names)'\n"
    }
    return script
  }
}
