import ArgumentParser

/// The options of a form that is uploaded.
struct FormOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Upload a form with POST, with this file; may be repeated. Then only URL follows.",
      valueName: "name=@FILE"))
  var form: [String] = []

  @Option(
    help: ArgumentHelp(
      "A field of the form, before its files; may be repeated.", valueName: "name=value"))
  var field: [String] = []

  var isEmpty: Bool { form.isEmpty && field.isEmpty }
}
