"""What Rails tells by symbols: callbacks, scopes, associations, and methods sent by their names."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "app/models/application_record.rb": """
class ApplicationRecord
  def touch_all
  end
end
""",
    "app/models/story.rb": """
class Story < ApplicationRecord
  belongs_to :author
  scope :recent, ->(days) { where(days) }
  delegate :city, to: :author
  after_create :mark, :touch_all, if: :open?
  validate :check_title, on: %i[create update]

  def mark
  end

  def open?
    author.try(:signed?) && respond_to?(:mark)
  end

  def check_title
    stories.map(&:slug)
  end
end
""",
    "app/models/saved_story.rb": """
class SavedStory < ApplicationRecord
  belongs_to :author
  after_create :mark

  def mark
  end
end
""",
    "app/models/author.rb": """
class Author < ApplicationRecord
  def signed?
  end

  def slug
  end

  def self.user(id)
  end
end
""",
    "app/controllers/stories_controller.rb": """
class StoriesController
  before_action :find, only: [:show, :edit]

  def show
    render :edit
    @story.author
  end

  def edit
    Story.recent(3)
  end

  def recent
  end

  private

  def find
  end
end
""",
    "app/models/concerns/audited.rb": """
module Audited
  included do
    before_save :log
  end

  def log
    self.write
  end

  def write
  end
end
""",
    "spec/story_spec.rb": """
describe Story do
  let(:user) { create(:user) }

  it "is shown" do
    sign_in user
  end
end
""",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    root = tmp_path_factory.mktemp("rails")
    write_tree(root, FILES)
    return told_in(root)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("Story.mark", ["models/story.rb:5 exact", "models/story.rb:12 exact"]),
        ("SavedStory.mark", ["models/saved_story.rb:3 exact"]),
        ("touch_all", ["models/story.rb:5 exact"]),
        ("Story.open?", ["models/story.rb:5 exact"]),
        ("check_title", ["models/story.rb:6 exact"]),
        ("find", ["controllers/stories_controller.rb:2 exact"]),
        ("StoriesController.edit", ["controllers/stories_controller.rb:2 exact"]),
        ("log", ["models/concerns/audited.rb:3 exact"]),
        ("write", ["models/concerns/audited.rb:7 exact"]),
        ("signed?", ["models/story.rb:12 likely"]),
    ],
)
def test_a_symbol_that_names_a_method_is_a_use_of_it(told, name, places):
    assert told("refs", name) == [f"app/{each}" for each in places]


def test_what_calls_a_callback_is_the_class_that_names_it(told):
    assert told("callers", "SavedStory.mark") == ["app/models/saved_story.rb:3 exact"]


def test_a_symbol_passed_on_as_a_block_may_mean_a_method(told):
    assert told("refs", "slug") == ["app/models/story.rb:16 by name"]


def test_scopes_associations_and_delegated_methods_are_defined(told):
    assert told("def", "Story.recent") == ["app/models/story.rb:3 exact"]
    assert told("def", "Story.author") == ["app/models/story.rb:2 exact"]
    assert told("def", "Story.city") == ["app/models/story.rb:4 exact"]


def test_a_scope_is_used_by_its_class_and_not_another_method_of_its_name(told):
    assert told("refs", "Story.recent") == ["app/controllers/stories_controller.rb:10 exact"]
    assert told("refs", "StoriesController.recent") == []


def test_a_variable_is_named_after_the_class_of_its_name_before_longer_ones(told):
    assert "app/controllers/stories_controller.rb:6 likely" in told("refs", "Story.author")
    assert "app/controllers/stories_controller.rb:6 likely" not in told("refs", "SavedStory.author")


def test_what_a_test_binds_by_let_is_a_variable(told):
    assert told("refs", "Author.user") == []
