// Records are read, and applied to sources, exactly as they say; everything else is an error that
// names the record.
#include <gtest/gtest.h>

#include <map>

#include "tests/mutants/plant.hpp"

namespace halfulp::mutants {
namespace {

const char* const kGood =
    "# a comment\n"
    "mutant sign of scalar\n"
    "  kind    wrong sign\n"
    "  killer  fill=ones\n"
    "  host    fail | faulted race\n"
    "  shrinks nodes=2 edges=3\n"
    "  - x + y\n"
    "  + x - y\n";

Records parse(const std::string& text) {
  Records parsed = parse_records(text, "add", "add.mutants");
  for (Record& record : parsed.records) record.stem = record.entry();
  return parsed;
}

Record only(const std::string& text) {
  const Records parsed = parse(text);
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.records.size(), 1u);
  return parsed.records.empty() ? Record{} : parsed.records[0];
}

TEST(Records, EveryLineIsRead) {
  const Record record = only(kGood);
  EXPECT_EQ(record.entry(), "add_scalar");
  EXPECT_EQ(record.name, "sign");
  EXPECT_EQ(record.kind, "wrong sign");
  EXPECT_EQ(record.killer, "fill=ones");
  EXPECT_EQ(record.host, "fail | faulted race");
  EXPECT_EQ(record.host_checked, "");
  EXPECT_EQ(record.shrinks, "nodes=2 edges=3");
  ASSERT_EQ(record.edits.size(), 1u);
  EXPECT_EQ(record.edits[0].search, " x + y\n");
  EXPECT_EQ(record.edits[0].replacement, " x - y\n");
}

TEST(Records, ErrorsNameTheLine) {
  const std::map<std::string, std::string> cases{
      {"kind x\n", "add.mutants:1: expected: mutant <name> of <kernel>"},
      {"mutant sign\n", "add.mutants:1: expected: mutant <name> of <kernel>, in lower case"},
      {"mutant Sign of scalar\n", "add.mutants:1: expected: mutant"},
      {kGood + std::string("killers fill=ones\n"), "add.mutants:9: 'killers' is none of"},
      {kGood + std::string("kind again\n"), "add.mutants:9: a second line `kind`"},
      {kGood + std::string(kGood), "add.mutants:10: a second sign of scalar"},
      {"mutant a of b\n+ x\n", "add.mutants:2: a + line without - lines"},
      {"mutant a of b\noccurrence 3 of 2\n", "add.mutants:2: expected: occurrence 2 of 3"},
      {"mutant a of b\nshrinks nodes=many edges=1\n", "add.mutants:2: expected: shrinks"},
      {"mutant a of b\nkiller k\nhost fail\n- x\n", "add.mutants:1: a: needs a line `kind`"},
      {"mutant a of b\nkind k\nhost fail\n- x\n", "add.mutants:1: a: needs a line `killer`"},
      {"mutant a of b\nkind k\nkiller k\n- x\n", "add.mutants:1: a: needs a line `host"},
      {"mutant a of b\nkind k\nkiller k\nhost fail\n", "add.mutants:1: a: needs a line `-`"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_TRUE(parse(text).error.starts_with(error)) << parse(text).error << "\nfor\n" << text;
  }
}

TEST(Planting, AnEntryPointIsFoundInTheSourceThatDefinesIt) {
  const std::string source = "\nStatus add_scalar(const Arguments& arguments) {\n";
  EXPECT_TRUE(defines(source, "add_scalar"));
  EXPECT_FALSE(defines(source, "scalar"));
  EXPECT_FALSE(defines("  return add_scalar(arguments);", "add_scalar"));
}

TEST(Planting, BlanksAndLineBreaksDoNotCount) {
  const Text planted = plant("z = x +\n      y;", only(kGood));
  EXPECT_EQ(planted.error, "");
  EXPECT_EQ(planted.text, "z =  x - y\n;");
}

TEST(Planting, ARecordThatNoLongerAppliesIsAnError) {
  const Text planted = plant("z = x * y;", only(kGood));
  EXPECT_EQ(planted.text, "");
  EXPECT_EQ(planted.error,
            "add.mutants:7: sign of scalar: no longer applies: the search text is not in the "
            "kernel's source");
}

TEST(Planting, ARecordThatAppliesTwiceIsAnError) {
  const Text planted = plant("z = x + y; w = x+y;", only(kGood));
  EXPECT_EQ(planted.error,
            "add.mutants:7: sign of scalar: the search text occurs 2 times, the record says 1");
}

TEST(Planting, AStatedOccurrenceIsReplaced) {
  std::string text = kGood;
  text.insert(text.find("  - "), "  occurrence 2 of 2\n");
  EXPECT_EQ(plant("x + y; x + y;", only(text)).text, "x + y;  x - y\n;");
  EXPECT_NE(plant("x + y;", only(text)).error.find("occurs 1 times, the record says 2"),
            std::string::npos);
}

TEST(Planting, EditsWithoutReplacementDelete) {
  std::string text = kGood;
  text.resize(text.find("  + "));
  EXPECT_EQ(plant("a; x + y; b;", only(text)).text, "a; ; b;");
}

TEST(Planting, SeveralEditsAreMadeInTurn) {
  const Record record = only(kGood + std::string("- w\n- v\n+ u\n"));
  EXPECT_EQ(record.edits.size(), 2u);
  EXPECT_EQ(plant("x + y, w v", record).text, " x - y\n,  u\n");
  EXPECT_NE(plant("x + y", record).error, "");
}

TEST(Planting, AnEditThatChangesNothingIsAnError) {
  std::string text = kGood;
  text.replace(text.find("x - y"), 5, "x+y");
  EXPECT_NE(plant("x + y", only(text)).error.find("changes nothing"), std::string::npos);
}

// Sources with a header of every build's copy, one that is not, and a kernel.
std::string read_sample(const std::string& path) {
  const std::map<std::string, std::string> files{
      {"gpu/kernels/access.hpp",
       "#pragma once\nnamespace halfulp::gpu::HALFULP_BUILD {\nint read();\n}\n"},
      {"gpu/kernels/slices.hpp",
       "#include \"gpu/kernels/access.hpp\"\nnamespace halfulp::gpu::HALFULP_BUILD {\n"
       "int slice();\n}\n"},
      {"gpu/kernels/binding.hpp", "namespace halfulp::gpu {\nint bind();\n}\n"},
      {"gpu/kernels/add_scalar.cuh",
       "#include \"gpu/kernels/access.hpp\"\n#include \"gpu/kernels/binding.hpp\"\n"
       "#include \"gpu/kernels/slices.hpp\"\nnamespace halfulp::gpu::HALFULP_BUILD {\n"
       "int z = x + y;\n}\n"},
  };
  const auto found = files.find(path);
  return found == files.end() ? std::string() : found->second;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t result = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++result;
  }
  return result;
}

TEST(Sources, HeadersOfEveryBuildAreCopiedOnceAndOthersIncluded) {
  const std::string text = expand("gpu/kernels/add_scalar.cuh", read_sample);
  EXPECT_EQ(count(text, "int read();"), 1u);
  EXPECT_EQ(count(text, "int slice();"), 1u);
  EXPECT_EQ(count(text, "#include \"gpu/kernels/binding.hpp\""), 1u);
  EXPECT_EQ(count(text, "#include"), 1u);
  EXPECT_LT(text.find("int read();"), text.find("int slice();"));
  EXPECT_LT(text.find("int slice();"), text.find("int z"));
}

TEST(Sources, EachMutantHasItsOwnNamespace) {
  std::vector<Record> records{only(kGood), only(kGood)};
  records[1].name = "other";
  records[1].edits[0].search = "int slice();";
  records[1].edits[0].replacement = "long slice();";
  const Text batch = batch_source("add_scalar", records, read_sample);
  EXPECT_EQ(batch.error, "");
  EXPECT_EQ(count(batch.text, "namespace halfulp::gpu::HALFULP_BUILD::add_scalar_sign {"), 3u);
  EXPECT_EQ(count(batch.text, "namespace halfulp::gpu::HALFULP_BUILD::add_scalar_other {"), 3u);
  EXPECT_EQ(count(batch.text, "namespace halfulp::gpu::HALFULP_BUILD {"), 0u);
  EXPECT_EQ(count(batch.text, "x - y"), 1u);
  EXPECT_EQ(count(batch.text, "long slice();"), 1u);
}

// The text of an entry point that is not the mutant's is not compiled, and its lines stay lines.
TEST(Sources, OtherEntryPointsAreLeftOut) {
  const std::string source =
      "\nStatus add_a(const Arguments& arguments) {\n  return a();\n}\n"
      "\nStatus helper(int n) {\n  return h();\n}\n"
      "\nStatus add_b(const Arguments& arguments) {\n  return b();\n}\n// end\n";
  const std::string only_a = only_entry(source, "add_a");
  EXPECT_EQ(count(only_a, "a();"), 1u);
  EXPECT_EQ(count(only_a, "h();"), 1u);
  EXPECT_EQ(count(only_a, "b();"), 0u);
  EXPECT_EQ(count(only_a, "\n"), count(source, "\n"));
  EXPECT_TRUE(only_a.ends_with("// end\n"));
  EXPECT_EQ(count(only_entry(source, "add_b"), "a();"), 0u);
}

TEST(Sources, BatchesShareTheMutants) {
  std::vector<Record> records(3, only(kGood));
  records[1].name = "second";
  records[2].name = "third";
  const Text first = batch_source("add_scalar", records, read_sample, {0, 2});
  const Text last = batch_source("add_scalar", records, read_sample, {1, 2});
  EXPECT_EQ(count(first.text, "x - y") + count(last.text, "x - y"), 3u);
  EXPECT_EQ(count(first.text, "add_scalar_second {"), 0u);
  EXPECT_EQ(count(last.text, "add_scalar_second {"), 3u);
}

TEST(Sources, OneRecordThatDoesNotApplyStopsTheBatch) {
  std::vector<Record> records{only(kGood), only(kGood)};
  records[1].name = "stale";
  records[1].edits[0].search = "x * y";
  EXPECT_NE(batch_source("add_scalar", records, read_sample).error.find("stale of scalar"),
            std::string::npos);
}

TEST(Sources, TheTableDeclaresBothBuildsAndRefusesEqualNames) {
  std::vector<Record> records{only(kGood)};
  const Text table = table_source(records, "plain", "checked");
  EXPECT_EQ(table.error, "");
  EXPECT_EQ(count(table.text, "namespace halfulp::gpu::plain::add_scalar_sign {"), 1u);
  EXPECT_EQ(count(table.text, "namespace halfulp::gpu::checked::add_scalar_sign {"), 1u);
  EXPECT_EQ(count(table.text, "scalar~sign"), 1u);
  records.push_back(records[0]);
  EXPECT_NE(table_source(records, "plain", "checked").error, "");
}

}  // namespace
}  // namespace halfulp::mutants
